/** What the rules mean by which a language model's answers are refused. The keys are the library's short words. */
export const THINK_RULES: Readonly<Record<string, string>> = {
  shape: "it is not of the form that was asked for",
  too_many: "more answers than were asked for",
  unknown_number: "it cites a number that was not given",
  stale: "something that it cites was recalled, superseded or hidden meanwhile",
  one_parent: "it rests on one thought, where at least two are wanted",
  self_feeding: "it rests on nothing but what a model made",
  one_source: "all that it rests on comes from one source",
  known: "somebody said so already",
  too_similar: "a thought says nearly the same already",
  own_output: "it repeats the marks that material is shown between",
  held: "the same waits for review",
  tombstone: "it was rejected or erased before",
  forgotten: "it was forgotten on purpose",
  recalled: "it was recalled",
  dead_source: "something that it cites was recalled or erased",
  dated: "the text has a time by now",
  not_in_text: "the words are not in the text",
  unread_words: "no parser reads a day in the words, or they count from a day that nobody knows",
  other_days: "the words mean other days",
  bad_time: "there are no such days",
};

/** The meaning behind a colon, nothing for a rule of the write path that is not listed. */
export function explainRule(rule: string): string {
  const meaning = THINK_RULES[rule];
  return meaning === undefined ? "" : `: ${meaning}`;
}
