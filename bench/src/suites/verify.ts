/** The whole proof, from the database and the root key: with appends of 50 entries, each under a seal of its own, and as one session alone leaves them. */
import { type Entry, type SessionEvent, sessionId } from "@orgate/core";
import { type ProofPorts, type Records, signedText } from "@orgate/core/journal";
import { verify } from "@orgate/core/proof";
import { checkSignature, nameKey, type Runtime, sha256 } from "orgate";
import { type Contender, compare, type Effort, type Measured, ratio } from "../measure.ts";
import { inFolder, openBench } from "../places.ts";
import { digits, type Report } from "../report.ts";

const GROUP = 50;
const AIM_PER_SECOND = 50_000;
const ports: ProofPorts = { hash: sha256, checkSignature, nameKey };

export const verifying = ({ effort, entries }: { readonly effort: Effort; readonly entries: number }): Promise<Report> =>
  inFolder(async (folder) => {
    const single = await openBench(`${folder}/single`, { powerCut: "lose-last-moments", thread: "main" });
    await single.session(Math.ceil(entries / 7));
    const [summary] = await single.runtime.inspect.sessions({ state: null, agent: null, before: null, most: 1 });
    if (summary === undefined) throw new Error("there is no session");
    const events: Entry[] = [];
    for await (const entry of single.runtime.inspect.events(summary.session)) events.push(entry);
    const grouped = await openBench(`${folder}/grouped`, { powerCut: "lose-last-moments", thread: "main" });
    await copyInGroups(grouped.runtime, events);

    const measured = await compare(
      [
        await floorOf(`hashes and seals alone, seals over ${GROUP} entries (floor)`, grouped.runtime),
        await proofOf(`verify, seals over ${GROUP} entries`, grouped.runtime),
        await proofOf("verify, one session alone", single.runtime),
      ],
      effort,
    );
    await single.runtime.close();
    await grouped.runtime.close();
    const [floor, ours] = measured;
    if (floor === undefined || ours === undefined) throw new Error("nothing was measured");
    const perSecond = (m: Measured): number => 1e6 / m.cpu.median;
    return {
      name: "verify",
      title: `Verify of ${events.length} entries`,
      unit: "µs/entry",
      by: "cpu",
      lines: measured.map((m) => ({
        ...m,
        ratio: m === floor ? null : ratio(m, floor, "cpuUs"),
        more: `${digits(perSecond(m))} entries/s of CPU`,
      })),
      aims: [
        {
          what: `entries/s with seals over ${GROUP} entries`,
          want: `at least ${digits(AIM_PER_SECOND)}`,
          got: digits(perSecond(ours)),
          met: perSecond(ours) >= AIM_PER_SECOND,
        },
      ],
      notes: ["one session alone is sealed ten times a second while it is written, so it has one signature to check for many entries"],
    };
  });

/** The same events, 50 to an append and a seal. */
async function copyInGroups({ place: { store } }: Runtime, entries: readonly Entry[]): Promise<void> {
  const session = sessionId("s_000000000grouped");
  const hold = await store.journal.take(session);
  for (let at = 0; at < entries.length; at += GROUP) {
    const events = entries.slice(at, at + GROUP).map(({ at: time, event }) => ({ at: time, event: event as SessionEvent }));
    const after = entries[at - 1]?.seq ?? 0;
    await store.journal.append({ stream: session, after: after as Entry["seq"], hold, events, consumes: [], unlessHalted: [] });
    await store.seal();
  }
  await store.journal.release(hold);
}

async function proofOf(label: string, { place }: Runtime): Promise<Contender> {
  const { records } = await place.store.snapshot();
  const root = place.keys.root().publicKey;
  const prove = () => verify({ records, root, ports, head: null, progress: () => {}, torn: null });
  return {
    label,
    units: prove().counts.entries,
    run() {
      const { firstBad } = prove();
      if (firstBad !== null) throw new Error(`it does not verify: ${JSON.stringify(firstBad)}`);
    },
  };
}

/** What a proof cannot do without, on texts in memory: each payload hashed, each header hashed, each seal checked. */
async function floorOf(label: string, { place }: Runtime): Promise<Contender> {
  const { texts, seals } = textsOf((await place.store.snapshot()).records);
  const keys = place.keyring.ring().keys;
  return {
    label,
    units: texts.length,
    run() {
      for (const text of texts) {
        sha256(text);
        sha256(HEADER);
      }
      for (const { key, hash, signature } of seals) {
        const found = keys.get(key);
        if (found === undefined || !checkSignature(found.publicKey, signedText(hash), signature)) throw new Error("a seal is not good");
      }
    },
  };
}
const HEADER = "h".repeat(220);

function textsOf(records: Records) {
  const texts = [...records.streams()].flatMap((stream) => [...records.entries(stream)].map((e) => `${e.salt}\n${e.payload}`));
  const seals = [...records.writers()].flatMap((writer) => [...records.seals(writer)]);
  return { texts, seals };
}
