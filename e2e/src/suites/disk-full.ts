/** The disk fills up in the middle of a run: a small file system of its own where one may be mounted, else a database that may not grow. */
import { closeSync, cpSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isAsked, isEffect, type Violation } from "../checks.ts";
import type { Stand, Victim } from "../stand/stand.ts";
import type { Line } from "../stand/wire.ts";
import type { Suite } from "../suite.ts";
import { findings, resumeAll } from "./kill-points.ts";

const DISK_MB = 4;

/** Where the run is when the disk becomes full, and what it may still do: nothing that would have to be written first. */
type Moment = Readonly<{ hold: string; point: string; words: string }>;
const MOMENTS: readonly Moment[] = [
  { hold: "model 2", point: "tx 6 begin", words: "while the model thinks" },
  { hold: "call 1.0", point: "tx 5 begin", words: "inside the effect of a `once` call" },
];

/** To the last byte. */
function fill(file: string): void {
  const fd = openSync(file, "w");
  try {
    for (let size = 1 << 16; size >= 1; ) {
      try {
        if (writeSync(fd, Buffer.alloc(size)) < size) size >>= 1;
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
        size >>= 1;
      }
    }
  } finally {
    closeSync(fd);
  }
}

const underWay = (victim: Victim, hold: string): Promise<Line> =>
  hold.startsWith("model ")
    ? victim.until("model", (m) => `model ${m.iteration}` === hold)
    : victim.until("effect", (e) => `call ${e.call}` === hold);

async function check(directory: string, victim: Victim, from: number, resume: () => Promise<Victim>): Promise<readonly Violation[]> {
  const { outcome } = await victim.until("did");
  await victim.gone;
  const after = victim.lines.slice(from).filter((l) => isEffect(l) || isAsked(l));
  const stopped = outcome.kind === "fault" && outcome.fault.kind === "journal-unwritable";
  const fresh = await resume();
  const lines = [...victim.lines.filter((l) => l.kind !== "did"), ...fresh.lines];
  return [
    ...(stopped ? [] : [`J-3 the turn did not stop: ${JSON.stringify(outcome)}`]),
    ...after.map((l) => `L-6 something was done after the last durable entry: ${JSON.stringify(l)}`),
    ...(await findings(directory, lines)),
  ];
}

/** The disk is filled by somebody else while the run waits for an answer. */
async function onSmallDisk(stand: Stand, disk: string, { hold }: Moment): Promise<readonly Violation[]> {
  const directory = join(disk, "project");
  cpSync(stand.project(), directory, { recursive: true });
  const filler = join(disk, "filler");
  const victim = await stand.start({ directory, jobs: [{ kind: "run" }], hold: [hold] });
  await underWay(victim, hold);
  if (hold.startsWith("call "))
    await victim.until("mark", (m) => m.step === "committed" && m.written.some((e) => e.call === "1.1" && e.kind === "act.ended"));
  fill(filler);
  const from = victim.lines.length;
  victim.answer(hold);
  return check(directory, victim, from, () => {
    rmSync(filler);
    return resumeAll(stand, directory);
  });
}

/** From a transaction on the database may not grow; the first commit that needs a page fails. What ran before it is not held against it. */
async function inSmallDatabase(stand: Stand, { point }: Moment): Promise<readonly Violation[]> {
  const directory = stand.project();
  const victim = await stand.start({ directory, jobs: [{ kind: "run" }], fullAt: point });
  await victim.until("did");
  const last = victim.lines.findLastIndex((l) => l.kind === "mark" && l.step === "begin");
  return check(directory, victim, last, () => resumeAll(stand, directory));
}

export const diskFull: Suite = {
  name: "a full disk in the middle of a run",
  async run({ stand, say, judge }) {
    const disk = stand.smallDisk(DISK_MB);
    say(
      disk === null
        ? "no file system may be mounted here: with a database that may not grow"
        : `on a tmpfs of ${DISK_MB} MB, and with a database that may not grow`,
    );
    for (const moment of MOMENTS) {
      if (disk !== null)
        await judge(
          `J-3 L-6 the disk is full ${moment.words}: the turn stops, nothing more is done, and it resumes when there is room`,
          () => onSmallDisk(stand, disk, moment).finally(() => rmSync(join(disk, "project"), { recursive: true, force: true })),
        );
      await judge(`J-3 L-6 the database may not grow from ${moment.point} on: the turn stops, nothing more is done, and it resumes`, () =>
        inSmallDatabase(stand, moment),
      );
    }
  },
};
