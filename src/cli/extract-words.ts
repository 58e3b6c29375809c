/**
 * What the short words of an extraction's report mean: why a file or record was passed over, and which rule a
 * broken one breaks. The one table for the screen and the reference; a word that it lacks is shown bare.
 */

/** Formats that are told from a file but have no reader yet. */
const UNREAD_FORMATS: ReadonlySet<string> = new Set(["chatgpt", "claude-ai", "codex", "gemini", "pi"]);

/** Whole files of a folder that were passed over. */
const FILE_SKIPS: Readonly<Record<string, string>> = {
  binary: "a file that is no text",
  broken_link: "a symbolic link to nothing",
  errors_not_listed: "an error beyond the first thousand",
  no_text: "a note in which there is nothing to remember, such as headings alone",
  other_file: "a file of a kind that holds no notes or talks",
  other_format: "a file of another format than the one asked for",
  subagent: "a subagent's transcript; --subagents reads it",
  template: "a note in the vault's folder of templates",
  unchanged: "a file that is as it was when it was read last",
  unknown: "a file whose format cannot be told",
  unknown_json: "JSON of no known format",
  unknown_jsonl: "JSON lines of no known format",
};

/** Records of a file, or blocks of a note, that were passed over. */
const RECORD_SKIPS: Readonly<Record<string, string>> = {
  agent_name: "the name of an agent",
  ai_title: "a title that a model gave",
  api_error: "a failure of the model's service",
  attachment: "something attached that nobody said",
  bridge_session: "a note about a connected session",
  caveat: "the program's remark about local commands",
  command: "a slash command",
  compact_summary: "a summary that replaced an earlier part of the talk",
  continued_in: "a pointer to the session that follows",
  custom_title: "a title that the person gave",
  dead_source: "it rests on a source that was recalled; it is read again once that is undone",
  document: "an attached document without words in the record",
  empty: "nothing in it to remember",
  forgotten: "it was forgotten by you; `dormouse revive` brings it back",
  held: "it is held back for review",
  ide_context: "what the editor had open or selected",
  image: "an image",
  interrupted: "a mark that the person interrupted",
  known: "it was read before",
  last_prompt: "a repeated copy of the last prompt",
  local_command: "a local command or its output",
  meta: "a record of the program's own",
  mode: "a change of mode",
  not_person: "words that no person wrote",
  own_output: "Dormouse's own output, which is not remembered again",
  partial_line: "a last line that is not finished yet; it is read next time",
  permission_mode: "a change of permissions",
  pr_link: "a link to a pull request",
  progress: "a report of progress",
  queue_operation: "a change in the queue of prompts",
  recalled: "it was recalled; it is read again once that is undone",
  refused: "the brain refused it",
  sidechain: "what a subagent said; --subagents reads it",
  snapshot: "a snapshot of files",
  summary: "the title of a session",
  synthetic: "words that the program put in the model's mouth",
  system: "a record of the system",
  system_reminder: "a reminder by the program or a hook",
  task_notification: "word of a task that ended",
  thinking: "what the model thought",
  tombstone: "it was erased or rejected for good",
  tool_result: "what a tool answered; it is cited as a source",
  tool_use: "a call of a tool",
  unknown_block: "a part of a message of an unknown kind",
  unknown_type: "a record of an unknown kind",
};

/** Rules that a file or record breaks. */
const ERRORS: Readonly<Record<string, string>> = {
  bad_block: "a part of the message is no object",
  bad_field: "a field holds another type than it takes",
  bad_name: "the file's name is not UTF-8",
  bad_time: "a time that cannot be read",
  binary: "the file is no text",
  busy: "another process reads the same file",
  empty: "there is nothing in the file",
  empty_folder: "every note that was known here is gone at once",
  invalid_json: "the line is no JSON",
  invalid_utf8: "the text is not UTF-8",
  invalid_yaml: "the note's front matter is no YAML",
  line_too_long: "the line is longer than a record may be",
  naive_time: "a date and time without an offset",
  no_content: "a record without content",
  no_message: "a record without a message",
  no_permission: "the right to read it is missing",
  no_type: "a record without a type",
  not_a_file: "neither a file nor a folder",
  not_an_object: "the line is JSON, but no object",
  not_found: "there is nothing at this path",
  subagent: "a subagent's transcript",
  too_long: "the note is larger than can be read",
  unknown: "its format cannot be told",
  unknown_json: "JSON of no known format",
  unknown_jsonl: "JSON lines of no known format",
  unknown_role: "a record of an unknown role",
  unknown_shape: "a record without a text where one belongs",
  unreadable: "reading failed",
};

/** Words with their meanings, in the order of the alphabet, under what they tell. */
export const EXTRACT_WORDS = { files: FILE_SKIPS, records: RECORD_SKIPS, errors: ERRORS } as const;

/** True for a format that is known by name and cannot be read. */
export function isUnreadFormat(word: string): boolean {
  return UNREAD_FORMATS.has(word);
}

/** True when the word tells of a whole file, not of a record in one that was read. */
export function isFileSkip(word: string): boolean {
  return word !== "unchanged" && (word in FILE_SKIPS || isUnreadFormat(word));
}

/** What a broken rule means, in half a sentence; null for a word without an explanation. */
export function explainError(rule: string): string | null {
  return isUnreadFormat(rule) ? "there is no reader for this format yet" : (ERRORS[rule] ?? null);
}
