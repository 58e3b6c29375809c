/**
 * Tells the language of a text by its function words, among the languages whose words have endings of their
 * own here. Deterministic and cheap: a token's evidence is looked up once and remembered with its terms.
 * Refuses to guess: too little evidence, or as much for English, Russian or an unknown language, gives none.
 */

/** Languages that are detected. English and Russian are the default of their scripts and are not among them. */
export const LANGUAGES = [
  "de",
  "nl",
  "sv",
  "da",
  "no",
  "fi",
  "hu",
  "fr",
  "es",
  "pt",
  "it",
  "ro",
  "tr",
  "pl",
  "uk",
  "bg",
] as const;
export type Language = (typeof LANGUAGES)[number];

/** What a token says about its text: the profiles that use it, and a weight in (0, 1] for each. */
export interface Evidence {
  readonly profiles: readonly number[];
  readonly weights: readonly number[];
}

/** Least evidence that a language needs: about one word that no other language has. */
const LEAST_EVIDENCE = 1;
/** Least number of tokens it comes from: a single "ya" or "ai" makes no English text Spanish or Italian. */
const LEAST_TOKENS = 2;
/** How many times the evidence for the script's default language it needs. */
const LEAST_LEAD = 1.5;

/**
 * Function words in lower case. Before the bar those that tell nothing in a question, after it those that
 * only show the language. Elided articles keep their apostrophe.
 */
const FUNCTION_WORDS: Readonly<Record<Language | "en" | "ru", string>> = {
  de:
    "der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren wird werden wurde " +
    "wurden hat haben hatte hatten zu zum zur im in an auf aus bei mit nach von vom vor für über um durch gegen ohne " +
    "als wie wenn weil dass ob was wer wo wann warum welche welcher welches kann können konnte soll muss müssen " +
    "nicht kein keine auch noch nur schon so es sich | ich du er sie wir ihr mich mir dich uns mein meine dein sein " +
    "seine ihre ihrer unser unsere habe bin bist dann dort hier heute immer mehr sehr man diese dieser dieses unter " +
    "zwischen bis",
  nl:
    "de het een en of maar is zijn was waren wordt worden werd werden heeft hebben had te in op aan uit bij met naar " +
    "van voor over om door tegen zonder als dat die dit deze wat wie waar wanneer waarom welke kan kunnen moet moeten " +
    "niet geen ook nog al zo er | ik jij je hij zij ze wij we jullie mij mijn jouw haar hun ons onze heb ben veel " +
    "meer dan hier daar toen nu onder tussen",
  sv:
    "en ett den det de och eller men är var blir blev har hade att i på av till från med om för mellan utan som när " +
    "där vad vem varför vilken kan kunde ska skulle måste inte ingen också bara så sig | jag du han hon vi ni mig dig " +
    "oss min mitt mina din hans hennes sin sina denna detta här då nu mycket mer under över efter vid",
  da:
    "en et den det de og eller men er var bliver blev har havde at i på af til fra med om for mellem uden som når " +
    "hvor hvad hvem hvorfor hvilken kan kunne skal skulle må ikke ingen også kun så sig | jeg du han hun vi mig dig " +
    "os min mit mine din hans hendes sin sine denne dette her da nu meget mere under over efter ved",
  no:
    "en ei et den det de og eller men er var blir ble har hadde å at i på av til fra med om for mellom uten som når " +
    "hvor hva hvem hvorfor hvilken kan kunne skal skulle må ikke ingen også bare så seg | jeg du han hun vi meg deg " +
    "oss min mitt mine din hans hennes sin sine denne dette her da nå mye mer under over etter ved",
  fi:
    "ja tai mutta on oli ovat olivat ei en et se ne että kun jos koska kuin myös vain jo niin missä mikä mitä kuka " +
    "milloin miksi kanssa ilman | minä sinä hän me te he minun sinun hänen meidän tämä tuo nämä joka jotka siellä " +
    "täällä nyt sitten hyvin olen olet ole olla ennen jälkeen",
  hu:
    "a az egy és vagy de hogy nem is van volt lesz voltak vannak ha mert mint csak már még meg mi ki hol mikor miért " +
    "melyik nélkül | én te ő ti ők ez azt ezt itt ott most akkor nagyon több minden kell lehet el be fel le alatt " +
    "után előtt között",
  fr:
    "le la les un une des du de à et ou mais est sont était étaient sera a ont avait au aux en dans sur avec sans pour " +
    "par entre vers chez que qui quoi où quand pourquoi quel quelle ne pas se ce cette ces comme si l' d' qu' n' s' " +
    "c' | je tu il elle nous vous ils elles me te moi mon ma mes ton sa son ses notre nos leur leurs y plus très " +
    "aussi j' m' t' été fait être avoir sous",
  es:
    "el la los las un una unos unas y o pero es son era eran fue fueron está están ha han había de del al a en con " +
    "sin por para entre sobre desde hasta que qué quién dónde cuándo cómo cuál no se como si lo | yo tú él ella " +
    "nosotros ellos ellas me te nos mi mis tu su sus nuestro nuestra este esta estos estas eso muy más también ya hay " +
    "ser hacer",
  pt:
    "o a os as um uma uns umas e ou mas é são era eram foi foram está estão tem têm de do da dos das no na nos nas ao " +
    "aos à às em com sem por pelo pela para entre sobre até que quem onde quando como qual não se | eu ele ela nós " +
    "eles elas você vocês me meu minha meus minhas seu sua seus suas nosso nossa este esta isso muito mais também já " +
    "há ser fazer",
  it:
    "il lo la i gli le un uno una e ed o ma è sono era erano fu ha hanno aveva di del dello della dei degli delle a " +
    "al allo alla ai agli alle da dal dalla in nel nella nei nelle con su sul sulla senza per tra fra che chi dove " +
    "quando come perché quale non si se l' d' un' dell' all' nell' dall' sull' c' | io tu lui lei noi voi loro mi ti " +
    "ci mio mia miei tuo suo sua nostro questo questa questi quello molto più anche già essere fare",
  ro:
    "un o și sau dar este sunt era erau a au fost de la în pe cu fără pentru prin între din spre că ca să ce cine " +
    "unde când cum care nu se nici al ale | eu tu el ea noi voi ei ele mă îmi meu mea mei său lui lor acest această " +
    "acesta foarte mai doar după avea fi am",
  tr:
    "ve veya ama bir bu şu ile için gibi kadar mi mı mu mü değil de da ne nerede kim nasıl neden hangi ki var yok idi " +
    "olan olarak | ben sen o biz siz onlar benim senin bana sana onun bizim şey sonra önce şimdi burada oldu her çok " +
    "daha en",
  pl:
    "i w z na do nie się jest są był była było byli to że o od po za przez dla przy pod nad bez u oraz lub ale a jak " +
    "co kto gdzie kiedy dlaczego który która które czy tylko już jeszcze też także | ja ty on ona my wy oni mnie mi ci " +
    "mój moja moje jego jej ich ten ta te tego tej bardzo więcej mam ma będzie być przed między",
  uk:
    "і й в у не на що з та до це як від за по про для був була було були є але або якщо коли де хто чому який яка яке " +
    "які при без під | я ми ви він вона вони його її їх мені мене мій моя ще вже тільки дуже також цей ця бути немає " +
    "після перед між",
  bg:
    "и в на не се да за от с по е са ще но или като че към до беше бяха има няма който която които какво къде кога " +
    "как защо при без под | аз ти той тя ние вие те това този тази тези много само вече още след между му ми ни им",
  en:
    "the a an and or but if of to in on at by for with from as is are was were be been am has have had do does did " +
    "not no it its he she they we you i me my your his her their our this that these those there here what who when " +
    "where why how which will would can could should may might must so than then just all any some out up about into " +
    "over after also very more most only too them him us one like get got know think don't i'm it's i've that's " +
    "can't didn't you're they're we're i'll i'd come die den man men hat plus pour under per son ton sin war has " +
    "die her mine min dig ah oh ha yeah ok okay yes bye",
  ru:
    "и в не на я он с что а по это она этот эта к но они мы как из у за так же от о вы бы все для до или если когда " +
    "где кто был была было были есть его её их мне меня мой моя ещё уже только очень при без под также чтобы после " +
    "перед между который которая которые",
};

/** Letters and endings that few languages write. */
const TELLING_SPELLINGS: readonly (readonly [
  spelling: RegExp,
  weights: Partial<Record<Language | "ru" | "other", number>>,
])[] = [
  [/[ơưđạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹřěůčšž]/, { other: 1 }],
  [/.ci[oó]n(?:es)?$/, { es: 0.8 }],
  [/..zion[ei]$/, { it: 1 }],
  [/..(?:ungen|keit|keiten|schaft)$/, { de: 1 }],
  [/..(?:heid|heden|lijke?)$/, { nl: 1 }],
  [/ß/, { de: 1 }],
  [/ü/, { de: 0.4, tr: 0.3, hu: 0.1 }],
  [/ä/, { de: 0.25, sv: 0.25, fi: 0.4 }],
  [/ö/, { de: 0.2, sv: 0.25, fi: 0.2, hu: 0.2, tr: 0.2 }],
  [/å/, { sv: 0.4, da: 0.3, no: 0.3 }],
  [/[æø]/, { da: 0.4, no: 0.4 }],
  [/ñ/, { es: 0.6 }],
  [/[ãõ]/, { pt: 1 }],
  [/[êèàâîô]/, { fr: 0.4, it: 0.1, pt: 0.1 }],
  [/[éç]/, { fr: 0.3, pt: 0.2, es: 0.1 }],
  [/[áíóú]/, { es: 0.3, pt: 0.2, hu: 0.2 }],
  [/[ìò]/, { it: 0.6 }],
  [/[őű]/, { hu: 1 }],
  [/[ățț]/, { ro: 1 }],
  [/[ğı]/, { tr: 1 }],
  [/ş/, { tr: 0.6, ro: 0.2 }],
  [/[łąęńśźż]/, { pl: 1 }],
  [/[іїєґ]/, { uk: 0.6 }],
  [/[ыэё]/, { ru: 0.6 }],
  [/[^аеиоуюя]ъ[^еёюя]|.хме$/, { bg: 1 }],
];

/** Beside the languages those whose words are stemmed by script anyway, and all that have no rules here. */
const PROFILES = [...LANGUAGES, "en", "ru", "other"] as const;
const DEFAULT_PROFILES = PROFILES.flatMap((_, index) => (index < LANGUAGES.length ? [] : [index]));

interface Profile {
  readonly evidence: ReadonlyMap<string, Evidence>;
  /** Function words of each language that tell nothing in a question. */
  readonly stopWords: ReadonlyMap<Language, ReadonlySet<string>>;
}

let profile: Profile | undefined;

function readProfile(): Profile {
  const users = new Map<string, number[]>();
  const stopWords = new Map<Language, ReadonlySet<string>>();
  for (const [index, name] of PROFILES.entries()) {
    if (name === "other") continue;
    const [stops = "", others = ""] = FUNCTION_WORDS[name].split(" | ");
    if (name !== "en" && name !== "ru") stopWords.set(name, new Set(stops.split(" ")));
    for (const word of new Set(`${stops} ${others}`.trim().split(" "))) {
      const known = users.get(word);
      if (known === undefined) users.set(word, [index]);
      else known.push(index);
    }
  }
  const evidence = new Map<string, Evidence>();
  for (const [word, profiles] of users) {
    evidence.set(word, { profiles, weights: profiles.map(() => 1 / Math.sqrt(profiles.length)) });
  }
  return { evidence, stopWords };
}

/**
 * What a token says about the language around it; null for most, and for abbreviations in capitals ("AI" is
 * not the Italian word). `token` as the text has it, in NFC.
 */
export function evidenceOf(token: string): Evidence | null {
  if (token.length > 1 && token === token.toUpperCase()) return null;
  profile ??= readProfile();
  const word = token.toLowerCase();
  const apostrophe = word.indexOf("'");
  const known =
    profile.evidence.get(word) ?? (apostrophe > 0 ? profile.evidence.get(word.slice(0, apostrophe + 1)) : undefined);
  if (known !== undefined) return known;
  for (const [spelling, weights] of TELLING_SPELLINGS) {
    if (!spelling.test(word)) continue;
    const names = Object.keys(weights) as (keyof typeof weights)[];
    return { profiles: names.map((name) => PROFILES.indexOf(name)), weights: names.map((name) => weights[name] ?? 0) };
  }
  return null;
}

/** Adds up what the tokens of one text say. */
export class LanguageVote {
  readonly #scores: number[] = new Array(PROFILES.length).fill(0);
  readonly #tokens: number[] = new Array(PROFILES.length).fill(0);

  add({ profiles, weights }: Evidence): void {
    for (let at = 0; at < profiles.length; at++) {
      const profile = profiles[at] ?? 0;
      this.#scores[profile] = (this.#scores[profile] ?? 0) + (weights[at] ?? 0);
      this.#tokens[profile] = (this.#tokens[profile] ?? 0) + 1;
    }
  }

  /** The language with the most evidence, if that is enough. */
  winner(): Language | null {
    const forDefault = DEFAULT_PROFILES.reduce((sum, index) => sum + (this.#scores[index] ?? 0), 0);
    let best: Language | null = null;
    let most = Math.max(LEAST_EVIDENCE, forDefault * LEAST_LEAD);
    for (const [index, language] of LANGUAGES.entries()) {
      const score = this.#scores[index] ?? 0;
      if (score < most || (score === most && best !== null) || (this.#tokens[index] ?? 0) < LEAST_TOKENS) continue;
      best = language;
      most = score;
    }
    return best;
  }
}

/** True for a word, in lower case, that tells nothing in a question in that language. */
export function isFunctionWord(word: string, language: Language): boolean {
  profile ??= readProfile();
  return profile.stopWords.get(language)?.has(word) === true;
}
