/**
 * Patterns over names: `*` stands for any characters, also none, `?` for exactly one, everything else for itself.
 * Capital and small letters are the same. No regular expressions: a pattern must not be able to cost more than its
 * length times that of the name.
 */

/** Whether the whole name fits the pattern. */
export function matchName(pattern: string, name: string): boolean {
  const wanted = [...fold(pattern)];
  const given = [...fold(name)];
  let at = 0;
  let star = -1;
  let retryFrom = 0;
  for (let index = 0; index < given.length; ) {
    if (wanted[at] === "*") {
      star = at;
      retryFrom = index;
      at += 1;
    } else if (at < wanted.length && (wanted[at] === "?" || wanted[at] === given[index])) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      // The last star takes one character more; earlier ones never need to.
      retryFrom += 1;
      index = retryFrom;
      at = star + 1;
    } else {
      return false;
    }
  }
  return wanted.slice(at).every((character) => character === "*");
}

/** True for a pattern that names nothing. */
export function isBlankPattern(pattern: string): boolean {
  return pattern.trim() === "";
}

function fold(text: string): string {
  return text.normalize("NFC").trim().toLowerCase();
}
