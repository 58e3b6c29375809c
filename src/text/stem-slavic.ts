/**
 * Light stemmers for Polish, which the stemming package lacks, and for Bulgarian, whose algorithm there throws
 * on some words ("хотели"). Own rules from the grammars' tables; no attempt at alternations inside a word.
 */

/** Shortest stem, in letters. */
const SHORTEST_STEM = 3;
/** No ending is longer. */
const LONGEST_ENDING = 8;

/** Endings of Polish nouns, adjectives and verbs; the longest that leaves a stem is taken. */
const POLISH_ENDINGS: ReadonlySet<string> = new Set(
  (
    "a ą e ę i o u y " +
    "ie iem iom iowi ii ią ię io ia iu iów iami iach " +
    "em om ów owi ami ach owie " +
    "ego emu ej ym ymi ych iego iemu iej im imi ich ejszy ejsza ejsze ejszych ejszego " +
    "ać ić yć eć ąć ować iwać ywać nąć " +
    "am asz amy ają ał ała ało ali ały ałem ałam ałeś ałaś aliśmy ałyśmy aj ając " +
    "ię isz imy ią ił iła iło ili iły iłem iłam iłeś iłaś iliśmy iąc " +
    "ysz ymy ył yła yło yli yły yłem yłam yliśmy " +
    "esz emy eją iał iała iało ieli iały iałem iałam ieliśmy ął ęła ęło ęli ęły ąłem ęłam " +
    "uję ujesz uje ujemy ują ował owała owało owali owały owałem owałam owaliśmy ując " +
    "any ana ane anego anemu anej aną anym anymi anych ano ani ony ona one onego onemu onej oną onym onymi onych " +
    "ono eni ity yty anie ania aniu aniem ań aniom aniami aniach enie enia eniu eniem eń eniom eniami eniach " +
    "owanie owania owaniu owaniem owań owaniom owaniami owaniach ość ości ością"
  ).split(" "),
);
/** Locatives, which soften the consonant itself: biletu and bilecie, samochodu and samochodzie, roweru and rowerze. */
const LOCATIVE = /^(.{3,})(?:(c)ie|(d)zie|(r)ze)$/;
const LOCATIVE_CONSONANTS: Readonly<Record<string, string>> = { c: "t", d: "d", r: "r" };

const SOFTENED: Readonly<Record<string, string>> = { ć: "t", ś: "s", ź: "z", ń: "n", ó: "o", ł: "l" };

/** The stem of a Polish word in lower case, with or without its accents. */
export function stemPolish(word: string): string {
  const locative = LOCATIVE.exec(word);
  if (locative !== null) {
    return `${locative[1]}${LOCATIVE_CONSONANTS[locative[2] ?? locative[3] ?? locative[4] ?? ""] ?? ""}`;
  }
  return stripEnding(word, POLISH_ENDINGS)
    .replace(/i$/, "")
    .replace(/[ćśźńół]$/, (letter) => SOFTENED[letter] ?? letter);
}

/** Bulgarian joins the article to the noun, behind the ending of the plural. */
const BULGARIAN_ARTICLES: ReadonlySet<string> = new Set("ът ят та то те ия ият".split(" "));
const BULGARIAN_ENDINGS: ReadonlySet<string> = new Set(
  "а я о е и ове еве ища ия ие ии ен на но ни ал ала ало али ил ила ило или ам аме ате ат им ите ят ах аха хме".split(
    " ",
  ),
);

/** The stem of a Bulgarian word in lower case. */
export function stemBulgarian(word: string): string {
  return stripEnding(stripEnding(word, BULGARIAN_ARTICLES), BULGARIAN_ENDINGS);
}

/** Without the longest of the endings that leaves a stem. */
function stripEnding(word: string, endings: ReadonlySet<string>): string {
  const longest = Math.min(LONGEST_ENDING, word.length - SHORTEST_STEM);
  for (let length = longest; length > 0; length--) {
    if (endings.has(word.slice(-length))) return word.slice(0, -length);
  }
  return word;
}
