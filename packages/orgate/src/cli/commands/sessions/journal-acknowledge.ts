/** J-20 an operator who has looked lets work go on; what is still bad stays refused. */
import { join } from "node:path";
import { FaultError } from "@orgate/core";
import { parseMarks, type Records } from "@orgate/core/journal";
import { MAX_VERIFY_PROBLEMS, problemName, type VerifyProblem, verify } from "@orgate/core/proof";
import { count, EXIT, type RunCommand, visible } from "@orgate/shell/terminal";
import { NODE } from "../../../runtime/ports/outside.ts";
import { PROOF_PORTS, rootPublicKey } from "../../../store/open-read-only.ts";
import { withSnapshot } from "../../../store/store.ts";
import { permittedPerson, withReadOnlyStore } from "../project/project.ts";

export const acknowledge: RunCommand = (given, screen) =>
  withReadOnlyStore(given, async (look, config) => {
    const reason = given.text("reason")?.trim() ?? "";
    if (reason === "")
      throw new FaultError({ kind: "usage", detail: "--reason is missing", hint: "say what you found and did about it: it is kept" });
    const standing = await look.alarms.standing();
    if (standing.length === 0)
      throw new FaultError({
        kind: "usage",
        detail: "nothing was acknowledged: there is no alarm",
        hint: "`orgate journal verify` proves the journal, `orgate doctor` tells of alarms",
      });
    const person = await permittedPerson(given, screen, config, {
      act: { kind: "acknowledge" },
      what: "acknowledge alarms of the journal",
    });
    const by = person.name;
    if (((await look.keys()).keys.get(person.key.id)?.withdrawn ?? null) !== null)
      throw new FaultError({
        kind: "key-bad",
        key: person.key.id,
        detail: "it was withdrawn",
        hint: "somebody whose key counts acknowledges it",
      });
    const root = rootPublicKey(join(config.journal.directory, "keys"));
    const { firstBad, row, found } = await withSnapshot(look, ({ records, wrongRows }) => {
      const verified = verify({ records, root, ports: PROOF_PORTS, head: null, progress: () => {}, torn: null });
      const [wrong] = verified.firstBad === null ? wrongRows(NODE.clock.now()) : [];
      return { firstBad: verified.firstBad, row: wrong, found: verified.problems.flatMap((p) => places(records, p)) };
    });
    const bad = firstBad === null ? (row ?? null) : `${problemName(firstBad)}: ${firstBad.reason}`;
    if (bad !== null && !given.flag("as-is"))
      throw new FaultError({
        kind: "journal-doubted",
        what: "it still does not verify",
        detail: `${bad} (--as-is acknowledges it like that)`,
      });
    for (const { what, detail } of found) await look.alarms.raise(what, detail); // as it is, all of it
    const acknowledged = await look.alarms.acknowledge({ by, reason, isVerified: bad === null });
    if (given.json) screen.line(JSON.stringify({ acknowledged, verified: bad === null }));
    else {
      screen.line(`acknowledged ${count(acknowledged.length, "alarm")}: work may go on`);
      for (const { what, detail } of acknowledged) screen.line(`  ${visible(what)}: ${visible(detail)}`);
      if (bad !== null) screen.line(screen.paint("warn", `still bad, and refused: ${visible(bad)}`));
    }
    return EXIT.success;
  });

/** Named as a reader would name it: a bad seal, and with it the entries that it names. */
function places(records: Records, p: VerifyProblem): readonly Readonly<{ what: string; detail: string }>[] {
  const entry = (stream: string, seq: number, detail: string) => ({ what: `entry ${seq} of stream \`${stream}\``, detail });
  if (p.kind === "entry") return [entry(p.stream, p.seq, p.reason)];
  const marks = [...records.seals(p.writer)].filter(({ number }) => number === p.seal).flatMap((s) => parseMarks(s.wrote) ?? []);
  const named = marks.slice(0, MAX_VERIFY_PROBLEMS).map(({ stream, seq }) => entry(stream, seq, p.reason));
  return [{ what: `seal ${p.seal} of writer \`${p.writer}\``, detail: p.reason }, ...named];
}
