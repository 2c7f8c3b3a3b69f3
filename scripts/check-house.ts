// Holds the tree's sizes down. What is too large today stands in `house.json`, may only shrink, and leaves the list once it is small enough.
//
// R-6 a function over 80 lines, a file over 400, a folder over 20 files, a name with two meanings in a package, an import cycle, an import against the
//      direction, more than four parameters and an assignment to the loop's state outside the fold fail the check, unless listed; a listed one that
//      grew fails, and so does one that shrank until its line says so.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMeasured, type Measure, measureHouse, type Offence } from "./measure-house.ts";
import { type Finding, filesOf, isSource, readText } from "./tree.ts";

/** By measure, what is listed: its size, or its size with the reason why it stays. */
type Listed = number | Readonly<{ most: number; why: string }>;
type House = Readonly<Partial<Record<Measure, Readonly<Record<string, Listed>>>>>;

const LIST = "scripts/house.json";
const sizeOf = (listed: Listed): number => (typeof listed === "number" ? listed : listed.most);

export function checkHouse(root: string): readonly Finding[] {
  return compare(offencesIn(root), JSON.parse(readText(root, LIST)));
}

const offencesIn = (root: string): ReturnType<typeof measureHouse> =>
  measureHouse(
    filesOf(root)
      .filter(isSource)
      .map((file) => ({ file, text: readText(root, file) }))
      .filter(isMeasured),
  );

export function compare(found: ReturnType<typeof measureHouse>, house: House): readonly Finding[] {
  return Object.entries(found).flatMap(([measure, offences]) => {
    const listed = house[measure as Measure] ?? {};
    const now = largest(offences);
    const gone = Object.keys(listed).filter((key) => !now.has(key));
    return [
      ...[...now.values()].flatMap((one) => objection(one, listed[one.key])),
      ...gone.map((key) => ({ file: LIST, line: 1, message: `${measure}: \`${key}\` is small enough now: take its line out (${SHRINK})` })),
    ];
  });
}
const SHRINK = "`node scripts/check-house.ts --shrink`";

function objection({ file, line, message, size }: Offence, listed: Listed | undefined): readonly Finding[] {
  if (listed === undefined) return [{ file, line, message }];
  const most = sizeOf(listed);
  if (size > most) return [{ file, line, message: `${message}; it grew from ${most}` }];
  return size < most ? [{ file, line, message: `${message}; it shrank from ${most}: write that down (${SHRINK})` }] : [];
}

/** Several offences with one key (functions without a name in one file) count as the largest of them. */
function largest(offences: readonly Offence[]): ReadonlyMap<string, Offence> {
  const found = new Map<string, Offence>();
  for (const one of offences) if (one.size > (found.get(one.key)?.size ?? 0)) found.set(one.key, one);
  return found;
}

/** The list with every size that shrank, without what is small enough: it never gains a line, and no size grows. */
export function shrunk(found: ReturnType<typeof measureHouse>, house: House): House {
  return Object.fromEntries(
    Object.entries(found).map(([measure, offences]) => {
      const now = largest(offences);
      const kept = Object.entries(house[measure as Measure] ?? {}).flatMap(([key, listed]) => {
        const size = now.get(key)?.size;
        if (size === undefined) return [];
        const least = Math.min(size, sizeOf(listed));
        return [[key, typeof listed === "number" ? least : { ...listed, most: least }]];
      });
      return [measure, Object.fromEntries(kept)];
    }),
  );
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  const found = offencesIn(root);
  if (process.argv.includes("--shrink")) {
    const next = shrunk(found, JSON.parse(readText(root, LIST)));
    writeFileSync(join(root, LIST), `${JSON.stringify(next, null, 2)}\n`);
  }
  const findings = checkHouse(root);
  for (const { file, line, message } of findings) console.error(`${file}:${line} ${message}`);
  for (const [measure, offences] of Object.entries(found)) console.log(`${measure}: ${largest(offences).size}`);
  process.exitCode = findings.length > 0 ? 1 : 0;
}
