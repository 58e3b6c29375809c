/**
 * Folds words, so that equal words are equal strings: case, accents of Latin and Greek, stress marks, vowel
 * signs that most writing leaves out, letters that keyboards lack. Pure; expects a word, not a text.
 */

const NON_ASCII = /[^\0-\x7F]/;
const LATIN_OR_GREEK_MARKS = /([\p{Script=Latin}\p{Script=Greek}])\p{M}+/gu;
const CYRILLIC_STRESS = /(\p{Script=Cyrillic})[\u0300\u0301]+/gu;
/** Letters without a decomposition that are written as others where the keyboard lacks them. */
const LETTER_FOLDS: Readonly<Record<string, string>> = {
  ß: "ss",
  ς: "σ",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  þ: "th",
  ł: "l",
  ı: "i",
  ħ: "h",
  ŧ: "t",
  ŋ: "n",
  ё: "е",
  أ: "ا",
  إ: "ا",
  آ: "ا",
  ٱ: "ا",
};
const FOLDED_LETTER = new RegExp(`[${Object.keys(LETTER_FOLDS).join("")}]`, "g");
/** Vowel signs of Hebrew and Arabic and the Arabic lengthening sign: left out in most writing. */
const OPTIONAL_MARKS = /[\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0640\u064B-\u0652\u0670]/g;

/** The word without case, accents and spelling variants. Folding what is folded changes nothing. */
export function foldWord(word: string): string {
  const lower = word.toLowerCase();
  if (!NON_ASCII.test(lower)) return lower;
  return lower
    .normalize("NFD")
    .replace(LATIN_OR_GREEK_MARKS, "$1")
    .normalize("NFC")
    .replace(CYRILLIC_STRESS, "$1")
    .replace(OPTIONAL_MARKS, "")
    .replace(FOLDED_LETTER, (letter) => LETTER_FOLDS[letter] ?? letter);
}
