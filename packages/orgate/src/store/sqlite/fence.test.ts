// A model of the fence: over every order of taking, releasing, dying and appending by three processes, only the holder under its epoch appends.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Digest, type Epoch, epoch, millis, seq, sessionId, writerId, ZERO } from "@orgate/core/vocab";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Owner, SealedAppend } from "./append-writer.ts";
import { databasePaths, openDatabase } from "./schema.ts";
import { openWriter, type SqliteWriter } from "./writer.ts";

const S = sessionId("s_fence00001");

/** One process: its connection, its name, and the holds that it has had. A process that dies comes back under its name as another incarnation. */
type Process = { readonly writer: SqliteWriter; owner: Owner; readonly holds: Epoch[] };
type Step = Readonly<{ who: number; does: "take" | "release" | "append" | "append in a group" | "append under an older hold" | "die" }>;

function appendBy(at: Epoch, first: number): SealedAppend {
  const row = {
    first: seq(first),
    count: 1,
    hash: `${first}`.padStart(64, "0") as Digest,
    mac: "",
    body: `note 1 ${ZERO} s {}\n`,
    at: millis(1),
  };
  return {
    stream: S,
    head: { seq: seq(first - 1), hash: ZERO },
    epoch: at,
    begins: false,
    row,
    unlessHalted: [],
    beside: null,
    isCountsOnly: false,
  };
}

test("J-4 whoever takes, releases or dies in between, an append is written exactly when its process holds the session under that epoch", () => {
  const steps = fc.array(
    fc.record<Step>({
      who: fc.nat(2),
      does: fc.constantFrom("take", "release", "append", "append", "append in a group", "append under an older hold", "die"),
    }),
    { minLength: 5, maxLength: 40 },
  );
  fc.assert(
    fc.property(steps, (all) => {
      const directory = mkdtempSync(join(tmpdir(), "orgate-fence-"));
      const places = databasePaths(directory);
      const processes = [0, 1, 2].map((n): Process => {
        const db = openDatabase(places, { create: true, synchronous: "off", maxPages: null });
        const name = writerId(`w${n}`);
        const writer = openWriter(db, places, { key: "k", start: { writer: name, number: 0, hash: ZERO, sum: 0n } });
        return { writer, owner: { writer: name, incarnation: 1, pid: n }, holds: [] };
      });
      let [held, last, written]: [Readonly<{ by: number; epoch: number }> | null, number, number] = [null, 0, 0];
      try {
        for (const { who, does } of all) {
          const one = processes[who] as Process;
          const believes = one.holds.at(does === "append under an older hold" ? -2 : -1) ?? null;
          if (does === "take") {
            const taken = one.writer.take({ session: S, seen: epoch(last), owner: one.owner }); // who takes has seen that nobody alive holds it
            expect(taken).toBe(last + 1);
            last += 1;
            held = { by: who, epoch: last };
            one.holds.push(epoch(last));
          } else if (does === "release") {
            if (believes !== null) one.writer.release(S, believes, one.owner);
            if (held?.by === who && held.epoch === believes) held = null;
          } else if (does === "die") one.owner = { ...one.owner, incarnation: one.owner.incarnation + 1 };
          else if (believes !== null) {
            const appends = [appendBy(believes, written + 1), ...(does === "append in a group" ? [appendBy(believes, written + 2)] : [])];
            const result = one.writer.commit({ appends, number: 1, seal: null, lists: [], flush: true, known: [], owner: one.owner });
            const may = held?.by === who && held.epoch === believes && one.owner.incarnation === incarnationAt(all, held.epoch, who);
            expect(result.kind, JSON.stringify({ who, does, believes, held })).toBe(may ? "done" : "refused");
            if (result.kind === "refused") expect(result.fault).toMatchObject({ kind: "hold-lost" });
            else written += appends.length;
          }
        }
        const db = openDatabase(places, { create: false, synchronous: "off", maxPages: null });
        expect(db.prepare("SELECT count(*) AS n, max(id) AS last FROM appends").get()).toEqual({
          n: written,
          last: written === 0 ? null : written,
        });
        db.close();
      } finally {
        for (const { writer } of processes) writer.close();
        rmSync(directory, { recursive: true, force: true });
      }
    }),
    { numRuns: 80 },
  );
});

/** Under which incarnation a process took the session for the n-th time that anybody did. */
function incarnationAt(all: readonly Step[], taking: number, who: number): number {
  let [taken, deaths] = [0, 0];
  for (const step of all) {
    if (step.does === "die" && step.who === who) deaths += 1;
    if (step.does === "take") taken += 1;
    if (taken === taking) break;
  }
  return deaths + 1;
}
