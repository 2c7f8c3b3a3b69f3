/** Taking a long session up again: every entry read, its chain checked, its event folded. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { seq } from "@orgate/core";
import { compare, type Effort, ratio } from "../measure.ts";
import { inFolder, openBench } from "../places.ts";
import { digits, type Report } from "../report.ts";

const AIM_MS = 100;
const EVENTS_PER_ITERATION = 7;

export const resume = ({ effort, events }: { readonly effort: Effort; readonly events: number }): Promise<Report> =>
  inFolder(async (folder) => {
    const { runtime, session } = await openBench(folder, { powerCut: "lose-last-moments", thread: "main" });
    await session(Math.ceil(events / EVENTS_PER_ITERATION));
    const [summary] = await runtime.inspect.sessions({ state: null, agent: null, before: null, most: 1 });
    if (summary === undefined) throw new Error("there is no session");
    const db = new DatabaseSync(join(folder, "journal.db"), { readOnly: true });
    const rows = db.prepare(
      "SELECT a.body FROM places AS p JOIN appends AS a ON a.id = p.id WHERE p.stream = (SELECT no FROM streams WHERE stream = ?) ORDER BY p.first",
    );
    const measured = await compare(
      [
        {
          label: "SELECT and JSON.parse (floor)",
          units: 1_000,
          run() {
            const found = rows.all(summary.session).flatMap(({ body }) => payloadsIn(String(body)));
            if (found.length !== summary.seq) throw new Error("entries are missing");
          },
        },
        {
          label: "read, chain checked",
          units: 1_000,
          async run() {
            const found = await runtime.place.store.journal.read(summary.session, seq(0), summary.seq + 1);
            if (found.length !== summary.seq) throw new Error("entries are missing");
          },
        },
        {
          label: "state: read, checked, folded",
          units: 1_000,
          async run() {
            const state = await runtime.inspect.state(summary.session);
            if (state.seq !== summary.seq) throw new Error("entries are missing");
          },
        },
      ],
      effort,
    );
    db.close();
    await runtime.close();
    const [floor, , ours] = measured;
    if (floor === undefined || ours === undefined) throw new Error("nothing was measured");
    return {
      name: "resume",
      title: `Resume of a session of ${summary.seq} events`,
      unit: "ms",
      by: "cpu",
      lines: measured.map((m) => ({ ...m, ratio: m === floor ? null : ratio(m, floor, "cpuUs"), more: "" })),
      aims: [
        {
          what: `CPU of a resume of ${summary.seq} events`,
          want: `at most ${AIM_MS} ms`,
          got: `${digits(ours.cpu.median)} ms (wall ${digits(ours.wall.median)} ms)`,
          met: ours.cpu.median <= AIM_MS,
        },
      ],
      notes: [],
    };
  });

/** A line of a body is five parts; the payload is the last, and the only one with spaces. */
const payloadsIn = (body: string): readonly unknown[] =>
  body
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line.split(" ").slice(4).join(" ")));
