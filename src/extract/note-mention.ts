/**
 * Wikilinks as they are kept until their target is met: one line of text that says what was written, and a
 * digest of the target's base name. Refuses to keep links that can never mean a thought.
 */
import type { Store } from "../store/store.ts";
import type { NoteLink } from "./markdown.ts";

/** Longest target that is kept; no file has a longer path. */
const MAX_TARGET_CHARS = 2_000;
const ATTACHMENT =
  /\.(?:png|jpe?g|gif|svg|webp|bmp|avif|ico|pdf|mp3|wav|m4a|ogg|flac|3gp|mp4|mov|mkv|webm|ogv|zip|canvas|base|excalidraw)$/i;

/** The link as one line: `[[note#heading]]`, `[[note#^block]]`, or `[](note.md#heading)`. Null for one too long. */
export function writeMention(link: NoteLink): string | null {
  const anchor = link.block !== null ? `#^${link.block}` : link.heading !== null ? `#${link.heading}` : "";
  const text = link.style === "wiki" ? `[[${link.target}${anchor}]]` : `[](${link.target}${anchor})`;
  return text.length > MAX_TARGET_CHARS ? null : text;
}

/** What `writeMention` wrote; null for anything else. */
export function readMention(text: string): NoteLink | null {
  const match = /^(?:\[\[([^#]*)(?:#(.*))?\]\]|\[\]\(([^#]*)(?:#(.*))?\))$/s.exec(text);
  if (match === null) return null;
  const [, wikiTarget, wikiAnchor, markdownTarget, markdownAnchor] = match;
  const anchor = wikiAnchor ?? markdownAnchor ?? null;
  const isBlock = anchor?.startsWith("^") === true;
  return {
    target: wikiTarget ?? markdownTarget ?? "",
    heading: isBlock ? null : anchor,
    block: isBlock && anchor !== null ? anchor.slice(1) : null,
    alias: null,
    embed: false,
    style: wikiTarget === undefined ? "markdown" : "wiki",
  };
}

/** False for links to files that hold no thoughts: images, sounds, drawings. */
export function isNoteLink(link: NoteLink): boolean {
  return !ATTACHMENT.test(link.target);
}

/** Keyed digest of the folded base name of the target. */
export function digestBaseName(store: Store, link: NoteLink): Buffer {
  const target = link.style === "markdown" ? decode(link.target) : link.target;
  const name = target.split(/[\\/]/).findLast((part) => part !== "") ?? "";
  const folded = name.normalize("NFC").toLowerCase().trim();
  return store.digest("mention", folded.replace(/\.(?:md|markdown)$/, ""));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
