import * as fc from "fast-check";
import { expect, test } from "vitest";
import { addedBy, MOST_AMOUNT, printAmount, toAmount, toExactNumber } from "./amounts.ts";
import { isNumberInRequest, toMatchRequest } from "./match.ts";

const names = (text: string, value: number | string): boolean => {
  const number = toExactNumber(value);
  return number !== null && isNumberInRequest(toMatchRequest([text]), number);
};

test.each([
  ["pay 1200 today", 1200],
  ["pay $1,200.50.", 1200.5],
  ["pay 1.200,50 €", 1200.5],
  ["pay 1'200.50 CHF", "1200.50"],
  ["pay EUR 40", 40],
  ["pay eur40 or 50usd", 40],
  ["pay eur40 or 50usd", 50],
  ["12,50", 12.5],
  ["1,234,567", 1_234_567],
  ["1.234.567", 1_234_567],
  ["a table for twenty-five (25)", 25],
  ["one hundred and twenty-five dollars", 125],
  ["Two Thousand Five Hundred", 2500],
  ["twelve hundred", 1200],
  ["a hundred", 100],
  ["$2.5 million", 2_500_000],
  ["-5 degrees", -5],
  ["pay ５０ euros", 50], // full width
  ["pay 1 200 to anna", 1200],
  ["pay 1\u00a0200,50 €", 1200.5],
  ["pay €1\u202f200\u202f000", 1_200_000],
  ["pay 1\u2009200.50 EUR", 1200.5],
  ["pay 1’200 francs", 1200],
  ["pay 80 thousand", 80_000],
  ["pay 80 million euros", 80_000_000],
  ["80 hundred", 8000],
  ["80 (million)", 80_000_000],
  ["pay $80k", 80_000],
  ["pay 80 k EUR", 80_000],
  ["pay EUR 80 k.", 80_000],
  ["pay 80 to anna", 80],
  ["pay 80", 80],
  ["pay “80”", 80],
  ["80 euros", 80],
  ["EUR 80", 80],
  ["80 EUR", 80],
  ["€80", 80],
  ["US$ 80 or US$80", 80],
  ["Rs. 80", 80],
  ["80 kr for me", 80],
  ["3 nights", 3],
  ["at 80", 80],
  ["80, please", 80],
  ["80 - please", 80],
  ["rent: 80;", 80],
  ["- 80 euros\n- 90 euros", 80],
  ["84.00 EUR\n146.50 EUR", 84],
  ["Rent\t80\nFood\t90", 80],
  ["between 80 and 90", 80],
  ["between 80 and 90", 90],
  ["from 17 to 20 April", 17],
  ["on 7 May", 7],
  ["5 to 10 people or 200", 5],
  ["−5 degrees", -5],
  ["€ -80,00", -80],
  ["pay\u200e 80\u200b now", 80],
  ["12.50.", 12.5],
  ["$12.10.", 12.1],
  ["0.5", 0.5],
  ["0", 0],
  ["two thousand and five", 2005],
  ["one euro", 1],
  ["one room", 1],
  ["a million", 1_000_000],
  ["pay 80 of the 90", 80],
  ["3 kg", 3],
])("G-27 %j names the number %j", (text, value) => expect(names(text, value)).toBe(true));

test.each([
  ["pay 1200", 120],
  ["pay 1200", 12_000],
  ["pay 5k", 5],
  ["pay 5 million", 5],
  ["on 2026-11-18", 18],
  ["on 18/11", 11],
  ["at 12:30", 12],
  ["version v1.2 or 1.2.3", 1.2],
  ["item #7", 7],
  ["room 7a", 7],
  ["evt12", 12],
  ["ann7@example.org", 7],
  ["1,2", 2],
  ["1.200", 1.2],
  ["1,200 TND", 1200],
  ["0,200 kg", 200],
  ["one more, and this one", 1],
  ["1.200", 1200],
  ["two five", 2],
  ["twenty eleven", 20],
  ["hundred", 100],
  ["one hundred", 1],
  ["someone", 1],
  ["half a million", 1_000_000],
  ["three quarters of a million", 1_000_000],
  ["5", -5],
  ["-5", 5],
  ["80 to 90 thousand", 80],
  ["80 or 90 million", 80],
  ["80, 90 or 100 thousand", 90],
  ["between 1.2 and 1.5 million", 1.2],
  ["five to six hundred", 5],
  ["pay 1 200", 1],
  ["pay 1 200", 200],
  ["pay 1'200", 200],
  ["80 thousand", 80],
  ["€80k", 80],
  ["10.0.0.1", 10],
])("G-27 %j does not name the number %j", (text, value) => expect(names(text, value)).toBe(false));

const NOTHING = [
  ...["80 billion", "80 min", "80 km"],
  ...[
    "80 bn",
    "80bn",
    "80 Mio.",
    "80 Mio. EUR",
    "EUR 80 mn",
    "80 mn",
    "80 k",
    "80k",
    "1.5m",
    "80 M",
    "80 tsd",
    "80 Mrd €",
    "80 T€",
    "80 k€",
    "80 TEUR",
    "80 USDm",
  ],
  ...[
    "80 EUR mn",
    "Mio. EUR 80",
    "TEUR 80",
    "million USD 80",
    "80 billones",
    "80 millions",
    "80 milliards",
    "80 Millionen",
    "80 millones",
    "80 mil",
    "80 mila",
    "80 mille",
  ],
  ...[
    "80 Tausend",
    "80 tusen",
    "80 duizend",
    "80 tysięcy",
    "80 tisíc",
    "80 ezer",
    "80 bin",
    "80 de mii",
    "80 juta",
    "80 lakh",
    "80 crore",
    "80 cr",
    "80 L",
    "80 grand",
  ],
  ...[
    "80 万",
    "80万",
    "80만원",
    "80 тыс.",
    "80 миллионов",
    "80 ألف",
    "80 लाख",
    "80 dozen",
    "80 gross",
    "80 score",
    "80 half",
    "80 hundredths",
    "80 xq",
    "80 qbn",
    "80 thsd",
    "80 mіllion",
  ],
  ...[
    "80 %",
    "80%",
    "80 ‰",
    "80 percent",
    "80 per cent",
    "80 Prozent",
    "80 pour cent",
    "80 por ciento",
    "80 bps",
    "80 basis points",
    "80 or 90 %",
  ],
  ...[
    "80 cents",
    "80¢",
    "80p",
    "80 pence",
    "80 euro cents",
    "80 US cents",
    "80 in cents",
    "3 euros 50",
    "3 euros and 50 cents",
    "80€50",
    "80 € 50",
    "3 hours 30",
  ],
  ...[
    "80½",
    "80 ½",
    "½",
    "1/2",
    "80 1/2",
    "80⁄2",
    "80 and a half",
    "two and a half million",
    "a million and a half",
    "half a million",
    "a quarter of a million",
    "two thirds",
  ],
  ...["1e3", "8E4", "8 e4", "8 × 10^4", "8 x10", "8 * 1000", "3 + 5", "10²", "10³", "①", "80①", "m² 5²", "⑧0", "80⃣", "8̶0̶", "x²"],
  ...["80-90", "80–90", "80 - 90", "80 – 90", "80-", "80, 90 k"],
  ...["minus 80", "negative 80", "− 80", "EUR - 80", "+80", "(80.00)", "($80)", "(80 EUR)", "80.-", "80,-"],
  ...[
    "5th",
    "17.4.",
    "17.04. um",
    "12:30",
    "3 pm",
    "3 p.m.",
    "3 o'clock",
    "18/11",
    "2026-11-18",
    "1.2.3",
    "v80",
    "007",
    "080",
    "00.5",
    "04109",
    ".5",
    "$.50",
  ],
  ...["٨٠", "८०", "𝟖𝟎", "80٫5", "８０，９０", "80，000", "80、000"],
  ...["8\u200b0", "1\u200b200", "1\ufeff200", "80\u200bk", "80 \u200bbn", "\u202e08\u202c", "1\u00ad200"],
  ...[
    "1  200",
    "5 1 200",
    "1 200 50",
    "1 200 5000",
    "2026 300",
    "1\n200",
    "1\t200",
    "01 200",
    "0049 30 1234567",
    "4111 1111 1111 1111",
    "ילד 1 200",
    "80 5",
    "80 five",
    "twenty 5",
  ],
  ...[
    "5 million five hundred thousand",
    "5 million, 300 thousand",
    "1 thousand 200",
    "two thousand 500",
    "5 lakh 20 thousand",
    "one million, two hundred thousand",
    "three hundred and 50",
  ],
  ...[
    "two point five",
    "2 point 5",
    "five oh three",
    "fourty five",
    "one hundred twentyfive",
    "two five hundred",
    "five-star",
    "two 500",
    "quatre vingt six",
    "soixante six",
    "five k",
  ],
  ...["1.200", "1,2", "1,2,3", "1,20,000", "1,200,50", "12'50", "1·200", "1_200", "1’20", "in thousands: 80", "all in EUR thousands\n80"],
  ...["amounts (in €k)\n80", "$m: 80", "in £000s: 80", "USD '000: 80"],
  ...["this one", "one of them", "someone", "x80", "80x", "#80", "80/night", "80/90", "80.90.100", "<80>", "80=80", "~80"],
];

test.each(NOTHING)("G-27 %j names no number: it has two readings, or one that is not known", (text) => {
  expect([...toMatchRequest([text]).numbers()]).toEqual([]);
  expect([...toMatchRequest([`pay ${text} to anna`]).numbers()]).toEqual([]);
});

test.each([
  `${")".repeat(200_000)}a`,
  `1${"\u200b".repeat(200_000)}1`,
  `80${"\u{e0020}".repeat(100_000)}x`,
  `${"illion".repeat(40_000)}\ufc5e`,
])("a word of 200,000 signs is read once, not once for each sign in it (%#)", (long) => {
  expect([...toMatchRequest([`pay 80 to anna. ${long}`]).numbers()]).toContain("8e1");
});

test("G-27 signs that nobody sees, and what closes a sentence, end a number and are no part of it", () => {
  for (const end of [".", "!?", ")\u200b.", "\u{e0020}\u{e007f}", "”…"]) expect(names(`pay 80${end} to anna`, 80)).toBe(true);
});

test("G-27 whatever number is written out, plainly or grouped, is named, and its neighbours are not", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10 ** 9 }), fc.integer({ min: 0, max: 99 }), (whole, cents) => {
      const fraction = String(cents).padStart(2, "0");
      const value = Number(`${whole}.${fraction}`);
      for (const text of [`${whole}.${fraction}`, `${whole.toLocaleString("en-US")}.${fraction}`, `$${whole}.${fraction}`]) {
        expect(names(`pay ${text} now`, value)).toBe(true);
        expect(names(`pay ${text} now`, value + 1)).toBe(false);
        expect(names(`pay x${text} now`, value)).toBe(false);
      }
    }),
  );
});

test("G-24 amounts are added as whole ten-thousandths: nothing is rounded, and what cannot be held counts as more", () => {
  const added = (...values: (number | string)[]) => addedBy(values.map(toExactNumber));
  expect([added(0.1, 0.2), added("12.50"), added(-5), added(5, -5), added()]).toEqual([3_000, 125_000, 0, 50_000, 0]);
  expect([added(0.00001), added(1.23456)]).toEqual([1, 12_346]);
  expect([added("abc"), added(1e30), added(2 ** 50)]).toEqual([MOST_AMOUNT, MOST_AMOUNT, MOST_AMOUNT]);
  const exact = (value: number | string) => {
    const number = toExactNumber(value);
    return number === null ? null : toAmount(number);
  };
  expect([exact(0.1), exact("-3"), exact(1.23456), exact(1e30), exact("12e")]).toEqual([1_000, -30_000, null, null, null]);
  expect([printAmount(3_000), printAmount(-1), printAmount(0), printAmount(2 ** 60)]).toEqual(["0.3000", "-0.0001", "0.0000", null]);
});
