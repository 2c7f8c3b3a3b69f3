import { createReadStream } from "node:fs";
import { join, resolve } from "node:path";
import { FaultError } from "@orgate/core";
import { type Head, headText, type PolicySetWithoutTexts, parseHead, parseMarks, type Records } from "@orgate/core/journal";
import { problemName, readExport, verify as verifyJournal } from "@orgate/core/proof";
import { errorMessage } from "@orgate/core/vocab";
import type { Screen } from "@orgate/shell/terminal";
import { count, EXIT, type Given, type RunCommand, visible } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { isPublicKey } from "../../../node/crypto.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import { PROOF_PORTS, type ReadOnlyStore, rootPublicKey } from "../../../store/open-read-only.ts";
import { withSnapshot } from "../../../store/store.ts";
import { openGivenProject, withReadOnlyStoreIfAny } from "../project/project.ts";

export const verify: RunCommand = async (given, screen) => {
  const [file] = given.args;
  return file === undefined ? ofProject(given, screen) : ofFile(given, screen, file);
};

const ofProject = async (given: Given, screen: Screen): Promise<number> =>
  withReadOnlyStoreIfAny(
    given,
    (look, config) => verifiedIn(look, config, given, screen),
    () => {
      throw noJournal(given);
    },
  );

/** J-28 Nothing was verified, so nothing is called verified: a project that never ran, or one whose whole `.orgate` is gone. The two look the same here. */
const noJournal = (given: Given): FaultError =>
  headGiven(given) === null
    ? new FaultError({
        kind: "usage",
        detail: `there is no journal in \`${openGivenProject(given).journal.directory}\`: nothing was verified`,
        hint: "`orgate run` makes one; if this project has run before, restore the folder from a copy",
      })
    : new FaultError({
        kind: "usage",
        detail: "there is no journal, and a head to compare it with",
        hint: "look in the project that the head is of, or restore its journal",
      });

async function verifiedIn(look: ReadOnlyStore, config: Config, given: Given, screen: Screen): Promise<number> {
  const root = keyOf(given, () => rootPublicKey(join(config.journal.directory, "keys")));
  const { found, wrong } = await withSnapshot(look, ({ records, wrongRows }) => {
    const total = screen.isAsideTerminal && !given.json ? totalOf(records) : 0;
    const verified = verifyJournal({ records, root, ports: PROOF_PORTS, head: headGiven(given), progress: bar(screen, total), torn: null });
    return { found: verified, wrong: verified.firstBad === null ? wrongRows(NODE.clock.now())[0] : undefined };
  });
  screen.progress("");
  const alarms = await look.alarms.standing();
  const rows = wrong === undefined ? null : { name: wrong, reason: "it is not what the entries make of it" };
  const firstBad = found.firstBad === null ? rows : { name: problemName(found.firstBad), ...found.firstBad };
  const { streams, entries, seals, writers, blobs, erased, unsealed, recovered } = found.counts;
  const counts = [
    count(entries, "entry", "entries"),
    count(streams, "stream"),
    count(seals, "seal"),
    count(writers, "writer"),
    count(blobs, "blob"),
    `${erased} erased`,
  ];
  if (given.json)
    screen.line(
      JSON.stringify({
        verified: firstBad === null,
        counts: found.counts,
        head: headText(found.head),
        firstBad,
        problems: found.problems,
        textless: found.textless,
        stillThere: found.stillThere,
        alarms,
      }),
    );
  else {
    screen.line(counts.join(", "));
    screen.line(`head ${headText(found.head)}`);
    if (found.stillThere > 0)
      screen.line(
        screen.paint(
          "warn",
          `${count(found.stillThere, "entry", "entries")} should be erased and still hold content: run \`orgate journal erase\` again`,
        ),
      );
    tellUnsealed(screen, unsealed);
    if (recovered > 0)
      screen.line(`${count(recovered, "seal was", "seals were")} made after a crash, over what the process had left unsealed`);
    tellTextless(screen, found.textless);
    for (const { what, detail } of alarms)
      screen.line(screen.paint("warn", `an alarm stands, and the project is read-only: ${visible(what)}: ${visible(detail)}`));
    printVerdict(screen, firstBad, { problems: found.problems.length, torn: false });
  }
  return firstBad === null ? EXIT.success : EXIT.failure;
}

/** J-31 not bad, and not passed over either. */
function tellUnsealed(screen: Screen, unsealed: number): void {
  if (unsealed === 0) return;
  const what = `${count(unsealed, "entry is", "entries are")} chained but not sealed: written in the last moments, or right before a crash`;
  screen.line(screen.paint("warn", `${what}. The next process of that writer seals them`));
}

const MOST_NAMED = 3;

/** J-27 not bad, and not passed over either. */
function tellTextless(screen: Screen, textless: readonly PolicySetWithoutTexts[]): void {
  if (textless.length === 0) return;
  const named = textless.slice(0, MOST_NAMED).map(({ digest, stream, seq }) => `${digest.slice(0, 12)} (entry ${seq} of ${stream})`);
  const more = textless.length > MOST_NAMED ? `, and ${textless.length - MOST_NAMED} more` : "";
  const what = `${count(textless.length, "set of policies has", "sets of policies have")} no text in it: ${named.join(", ")}${more}`;
  screen.line(screen.paint("warn", `${visible(what)}. It was recorded before texts were stored, or the gate is a program's own code`));
}

type Bad = Readonly<{ name: string; reason: string }>;
const TORN = "not verified: the end of the file is missing; what is there is as it was written";

/** J-13 The last line tells the outcome: `verified` stands there only when the exit code is 0. */
function printVerdict(screen: Screen, firstBad: Bad | null, { problems, torn }: Readonly<{ problems: number; torn: boolean }>): void {
  if (firstBad === null) screen.line(torn ? screen.paint("bad", TORN) : screen.paint("good", "verified: everything is as it was written"));
  else
    screen.line(
      `${screen.paint("bad", `not verified: ${firstBad.name} is bad`)}: ${visible(firstBad.reason)}${problems > 1 ? ` (and ${problems - 1} more)` : ""}`,
    );
}

async function ofFile(given: Given, screen: Screen, file: string): Promise<number> {
  const root = keyOf(given, () => ownRoot(given));
  const wanted = headGiven(given);
  const read = readExport(await piecesOf(file, given.cwd), root, PROOF_PORTS);
  const problems = [...read.problems, ...headProblems(wanted, read.head)];
  const [first] = problems;
  const firstBad = first === undefined ? null : { name: first.line === 0 ? "the file" : `line ${first.line}`, ...first };
  if (given.json) {
    const { what, stream, torn, counts, head, textless } = read;
    screen.line(JSON.stringify({ verified: firstBad === null && !torn, what, stream, torn, counts, head, textless, firstBad, problems }));
  } else {
    const { entries, seals, blobs, erased, unsealed } = read.counts;
    const whole = read.torn ? "part of a journal" : "a whole journal";
    const of = read.what === "session" ? `${read.torn ? "part of " : ""}session ${visible(read.stream ?? "?")}` : whole;
    screen.line(`${of}: ${count(entries, "entry", "entries")}, ${count(seals, "seal")}, ${count(blobs, "blob")}, ${erased} erased`);
    if (read.head !== null) screen.line(`head ${visible(read.head)}`);
    tellUnsealed(screen, unsealed);
    tellTextless(screen, read.textless);
    if (read.torn && firstBad !== null) screen.line(screen.paint("warn", "the end of the file is missing: what is there was checked"));
    printVerdict(screen, firstBad, { problems: problems.length, torn: read.torn });
  }
  return firstBad === null && !read.torn ? EXIT.success : EXIT.failure;
}

/** Against a head that was kept elsewhere, an older whole export is found out. */
function headProblems(wanted: Head | null, found: string | null): { readonly line: number; readonly reason: string }[] {
  if (wanted === null) return [];
  const has = found === null ? null : parseHead(found);
  if (has === null) return [{ line: 0, reason: "one session has no head to compare: verify an export of the whole journal" }];
  return [...wanted].flatMap(([writer, { number, hash }]) => {
    const at = has.get(writer);
    const reason = `the given head has seal ${number} of writer \`${writer}\`, and the file ends before it`;
    if (at === undefined || at.number < number) return [{ line: 0, reason }];
    return at.number === number && at.hash !== hash
      ? [{ line: 0, reason: `seal ${number} of writer \`${writer}\` is not that of the given head` }]
      : [];
  });
}

async function piecesOf(file: string, cwd: string): Promise<readonly string[]> {
  const pieces: string[] = [];
  try {
    for await (const piece of createReadStream(resolve(cwd, file), { encoding: "utf8", highWaterMark: 1 << 20 }))
      pieces.push(String(piece));
    return pieces;
  } catch (error) {
    const detail = errorMessage(error);
    throw new FaultError({ kind: "journal-unreadable", file, detail }, error);
  }
}

/** Of the project one stands in. */
function ownRoot(given: Given): string {
  try {
    return rootPublicKey(join(openGivenProject(given).journal.directory, "keys"));
  } catch (error) {
    if (!(error instanceof FaultError) || error.fault.kind !== "project-missing") throw error;
    const detail = "whose journal is it? an exported file is verified with its root's public key";
    throw new FaultError({ kind: "usage", detail, hint: "give it with --key ed25519:…, or run this in the project" }, error);
  }
}

function keyOf(given: Given, own: () => string): string {
  const key = given.text("key");
  if (key === null) return own();
  if (isPublicKey(key)) return key;
  throw new FaultError({
    kind: "usage",
    detail: "--key is not a public key",
    hint: "it looks like `ed25519:` and 44 characters of base64",
  });
}

function headGiven(given: Given): Head | null {
  const text = given.text("head");
  const head = text === null ? null : parseHead(text);
  if (text !== null && head === null)
    throw new FaultError({ kind: "usage", detail: "--head is not a head", hint: "give what `orgate journal head` printed" });
  return head;
}

/** As the seals claim, which is quick to ask and good enough to draw with. */
function totalOf(records: Records): number {
  const ends = new Map<string, number>();
  for (const writer of records.writers())
    for (const { wrote } of records.seals(writer))
      for (const { stream, seq } of parseMarks(wrote) ?? []) ends.set(stream, Math.max(seq, ends.get(stream) ?? 0));
  return [...ends.values()].reduce((sum, end) => sum + end, 0);
}

const CELLS = 30;

/** On a terminal only: one line that is written over. */
function bar(screen: Screen, total: number): (entries: number) => void {
  if (total === 0) return () => {};
  return (entries) => {
    const done = Math.round(Math.min(1, entries / total) * CELLS);
    screen.progress(`[${"#".repeat(done)}${" ".repeat(CELLS - done)}] ${entries} of ${total} entries`);
  };
}
