/**
 * Whether two texts say the same, judged by their words. Stricter than any embedding: the words that tell
 * something must be the same ones in the same order, so that a number, a date, a name, a negation, a tense or a
 * question never goes unnoticed ("Anna paid Bob" and "Bob paid Anna" have cosine 1). Only spelling may differ:
 * case, white space, punctuation, and English words that carry nothing.
 */

/** A word with inner apostrophes or dots (don't, 3.5, example.org), a bare fraction, or any other sign by itself. */
const TOKEN = /(?<![^\s"'(])\.\p{N}+|[\p{L}\p{M}\p{N}]+(?:['.,:][\p{L}\p{M}\p{N}]+)*|[^\s\p{L}\p{M}\p{N}]/gu;
/** Signs that say nothing by themselves. A question mark, brackets, currency, signs of arithmetic and emoji do. */
const SILENT_SIGN = /^[.,;:!…"'«»·]$/u;
/** In code every sign speaks, and so may a word that is a filler elsewhere. */
const CODE_SIGN = /[{}=<>`\\|]|::|\/\//;
const HYPHEN_BETWEEN_LETTERS = /(?<=\p{L})[-\u2010\u2011](?=\p{L})/gu;
const APOSTROPHE = /[\u2018\u2019\u02BC]/g;
const QUOTE = /[\u201C-\u201F\u2039\u203A]/g;
const DASH = /[\u2010-\u2015\u2212]/g;
/** A dash between two spaces parts clauses; elsewhere it may be a minus. */
const CLAUSE_DASH = /\s-{1,3}(?=\s)/g;

/** Words without which an English sentence still says what it says. */
const FILLERS: ReadonlySet<string> = new Set(["a", "an", "the", "just", "really", "very", "please", "quite", "and"]);

const ACRONYM = /^[\p{Lu}\p{N}]*\p{Lu}[\p{Lu}\p{N}]+$/u;

/** The telling words and signs of a text, in order, in one spelling. */
export function tellingWords(text: string): string[] {
  if (CODE_SIGN.test(text)) return text.normalize("NFC").match(TOKEN) ?? [];
  const plain = text
    .normalize("NFKC")
    .replace(APOSTROPHE, "'")
    .replace(QUOTE, '"')
    .replace(DASH, "-")
    .replace(HYPHEN_BETWEEN_LETTERS, " ")
    .replace(CLAUSE_DASH, " ");
  const tokens = (plain.match(TOKEN) ?? []).filter((token) => !SILENT_SIGN.test(token));
  const isShouted = !/\p{Ll}/u.test(plain);
  return tokens.flatMap((token, index) => {
    const folded = token.toLowerCase();
    // "Vitamin A" keeps its A; "A cat" and "a cat" do not.
    if (FILLERS.has(folded) && (token === folded || index === 0 || isShouted)) return [];
    // "US" is not "us", unless everything is in capitals.
    return [!isShouted && ACRONYM.test(token) ? token : folded];
  });
}

/** True when both texts have the same telling words in the same order. Symmetric and transitive. */
export function saysTheSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => word === b[index]);
}
