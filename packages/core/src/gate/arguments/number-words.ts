/**
 * What a word says beside a number, read in English: a number, a scale, a unit, a joint, or nothing that matters. Words that scale or part a number in other
 * languages, and short ones that nobody knows, are odd: a number beside them is another one than its digits say.
 */

const ONES =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  );
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const SCALES: Readonly<Record<string, number>> = { hundred: 2, thousand: 3, million: 6, billion: 9 };

export type WordKind =
  | Readonly<{ kind: "word" }>
  /** `none`: `billion` is a thousand or a million millions. `money`: `k` is a thousand of a currency only. */
  | Readonly<{ kind: "scale"; power: number; reads: "all" | "money" | "none" }>
  /** `isKnown`: wherever it stands; else only behind a number. */
  | Readonly<{ kind: "odd"; isKnown: boolean }>
  | Readonly<{ kind: "unit" | "and" | "or" | "article" | "other" }>;

export const CODES =
  "aed|ars|aud|bdt|bgn|bhd|brl|cad|chf|clp|cny|cop|czk|dkk|egp|eur|gbp|ghs|hkd|huf|idr|ils|inr|iqd|isk|jod|jpy|kes|krw|kwd|lkr|lyd|mad|mxn|myr|ngn|nok|nzd|omr|pen|php|pkr|pln|qar|ron|rsd|rub|sar|sek|sgd|thb|tnd|try|twd|tzs|uah|ugx|usd|uyu|vnd|xaf|xof|zar";
/** Of one of them a number can be several, with the next number: `5 euros 50`, `3 hours 30`. */
const UNIT = new RegExp(
  `^(?:${CODES}|euros?|dollars?|pounds?|quid|bucks?|yen|yuan|francs?|franken|rupees?|rs|pesos?|reais|real|lei|kr|kron[aeo]r?|z[lł](?:ot[yi]|otych)?|fr|sfr|cfa` +
    "|hours?|hrs|minutes?|degrees?|feet|foot|ft|inch(?:es)?|stone|lbs|oz|kg|cm|mg|ml|gb|mb|tb|px|pcs)$",
);
/** Scales, parts and signs: words that are whole, words by their beginning, words by what is in them. Marks over letters are left out. */
const WHOLE =
  "m t b g mm mn bn cr tr kk km mio mia mln mld mlrd mrd md mds bio bln trn tn tsd tsnd tds td tys tis ths tho thou thous hund hilj mii min bin rb jt sto sta set sau lac lacs " +
  "lakh lakhs arab hajar hazar hazaar hezar kharab crore crores karor grand grands large stacks racks ezer ribu juta yuta elfu libo nghin ngan trieu suta sute yuz szaz mije ming " +
  "migia mano kilu kuma dubu akpe apem mpem piliona tiliona viliad tuzen tuusig tauzan dousend dausend egberun inkulungwane þusund tusund " +
  "tens hundreds thousands dozen dozens doz dz dzn score scores gross couple half halves quarter quarters thirds fourths fifths sixths sevenths eighths ninths tenths " +
  "hundredth hundredths thousandth thousandths demi demie mezzo mezza medio media meio meia viertel drittel zehntel tiers dusin dussin tucet tuzin tucat docena docenas douzaine douzaines " +
  "dozzina dozzine duzia duzias pct pc bps bip bips basis pence penny pennies dime dimes nickel nickels rappen paisa paise sen fen ore oere ct cts sat sats satoshi satoshis wei gwei " +
  "point dot comma komma coma virgule oh nought minus negative moins menos meno fourti fourty fivety ninty vingt trente quarante cinquante soixante quatre squared cubed " +
  "faiz foiz posto kaso sedi ehuneko nkyɛmu peratus perqind asilimia boqolkiiba goterim peseti yuzde gcead szazalek pasent";
const BEGINNING =
  "[bm]h?[iy]+[lł] mb[iy]+l th?r[iy]+[lł] tir[iy]+l hund hond cent cien tuha tuhh duha tukst tysi tysa tisic tisoc tisuc hiljad isigidi duilion halb dutzend pfennig grosz kope " +
  "percen persen persent pursen pertsch porsyen procen procin prosen prozen protsen proșt permil promil odstot";
const INSIDE = "illion illiard iljard iljoen ilyon ilyar iliard tausend tusen tusind duizend duisend pepem";
const ODD = new RegExp(
  `^(?:${WHOLE.replaceAll(" ", "|")}|(?:${BEGINNING.replaceAll(" ", "|")})\\p{L}*|\\p{L}*(?:${INSIDE.replaceAll(" ", "|")})\\p{L}*)$`,
  "u",
);
/** `TEUR`, `kUSD`, `EURm`. */
const SCALED_CODE = new RegExp(`^(?:(?:k|t|m|b|bn|mn|mm|mio|mrd|mln)(?:${CODES})|(?:${CODES})(?:k|t|m|b|bn|mn|mm|mio|mrd|mln))$`);
/** Words so short that they could be any abbreviation, and are none. */
const SHORT = new Set(
  (
    "all any are as ask at ate but buy by can day did do eat end far few for get go got had has he her him his how i if in is it its let me men my new no nor not now " +
    "of off old on our out own pay per put red run say see she so the too top up us use via was way we who why yes yet you box bag cup jan feb mar apr may jun jul aug sep oct nov dec"
  ).split(" "),
);
const VOWEL = /[aeiouy]/;
/** A longer one is read by nobody: what stands within it is not looked for. */
const MOST_LETTERS = 100;

/** `word`: letters only, in lower case. */
export function classifyWord(word: string): WordKind {
  if (word.length > MOST_LETTERS) return { kind: "odd", isKnown: true };
  const plain = word.normalize("NFKD").replace(/\p{M}/gu, "");
  if (ONES.includes(plain) || TENS.includes(plain)) return { kind: "word" };
  const power = SCALES[plain];
  if (power !== undefined) return { kind: "scale", power, reads: power < 9 ? "all" : "none" };
  if (plain === "k") return { kind: "scale", power: 3, reads: "money" };
  if (plain === "a" || plain === "an") return { kind: "article" };
  if (plain === "and" || plain === "plus") return { kind: "and" };
  if (/^(?:to|or|until|till|through|thru|oder|hasta)$/.test(plain)) return { kind: "or" };
  if (UNIT.test(plain)) return { kind: "unit" };
  if (ODD.test(plain) || SCALED_CODE.test(plain)) return { kind: "odd", isKnown: true };
  if (/[^\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}ʻʼ]/u.test(plain)) return { kind: "odd", isKnown: true }; // some stand before
  const isForeign = /[^\p{Script=Latin}]/u.test(plain);
  const isShort = plain.length <= 3 ? !SHORT.has(plain) : !VOWEL.test(plain);
  return isForeign || isShort ? { kind: "odd", isKnown: false } : { kind: "other" };
}

/** Begins like a number and is none: `twentyfive`, `sixth`. Beside number words it belongs to them. */
export const isAlmostNumber = (word: string): boolean =>
  /^(?:one|two|thr|four|fif|six|seven|eigh|nin|ten|elev|twel|twen|thir|for?ty|hundr|thous|milli|billi)/.test(word);

/** `two thousand five hundred and twelve`: scales fall, and each part below a scale is a number below a thousand. Null: no number. */
export function readNumberWords(words: readonly string[]): string | null {
  const run = words[0] === "a" || words[0] === "an" ? ["one", ...words.slice(1)] : words;
  let [sum, part, last] = [0, 0, Number.POSITIVE_INFINITY];
  let open: "any" | "ones" | "none" = "any"; // what may still come in this part
  let before = "";
  for (const word of run) {
    const [ten, one, scale] = [TENS.indexOf(word), ONES.indexOf(word), SCALES[word]];
    const isJoint = word === "and" && Object.hasOwn(SCALES, before);
    if (isJoint) open = "any";
    else if (ten >= 0 && open === "any") [part, open] = [part + (ten + 2) * 10, "ones"];
    else if (one > 0 && (open === "any" || (open === "ones" && one < 10))) [part, open] = [part + one, "none"];
    else if (one === 0 && run.length === 1) open = "none";
    else if (scale === 2 && part > 0 && part < 100) [part, open] = [part * 100, "any"];
    else if (scale !== undefined && scale > 2 && scale < last && part > 0)
      [sum, part, last, open] = [sum + part * 10 ** scale, 0, scale, "any"];
    else return null;
    before = word;
  }
  return before === "and" || run.length === 0 ? null : String(sum + part);
}
