import { resolve } from "node:path";
import { FaultError, isSessionStream, type StreamId, streamId } from "@orgate/core";
import { decodePayload, headText, isStreamName, type Records, type StoredEntry } from "@orgate/core/journal";
import { exportJournal, exportSession } from "@orgate/core/proof";
import { count, EXIT, type Given, type RunCommand, table, visible } from "@orgate/shell/terminal";
import { writeExportFile } from "../../../store/export-file.ts";
import { PROOF_PORTS, type ReadOnlyStore } from "../../../store/open-read-only.ts";
import { withSnapshot } from "../../../store/store.ts";
import {
  certifyIfNeeded,
  findSessionByText,
  openGivenProject,
  permittedPerson,
  withReadOnlyStore,
  writingProject,
} from "../project/project.ts";

export const showJournal: RunCommand = (given, screen) =>
  onSnapshot(given, async (look, records) => {
    const [wanted] = given.args;
    if (wanted === undefined) {
      const streams = [...records.streams()].map((stream) => sizeOf(records, stream));
      if (given.json) screen.line(JSON.stringify(streams));
      const rows = streams.map((s) => [s.stream, String(s.entries), new Date(s.lastAt).toISOString()] as const);
      for (const line of given.json ? [] : table(["stream", "entries", "last"], rows, screen.paint)) screen.line(line);
      return EXIT.success;
    }
    const stream = await streamOf(look, records, wanted);
    let first = true;
    if (given.json) screen.write("[");
    for (const stored of records.entries(stream)) {
      if (!screen.isOpen()) break;
      const { seq, at, event, kind, bad } = readable(records, stored);
      if (given.json) screen.write(`${first ? "" : ",\n"}${JSON.stringify({ stream, seq, at, kind, event, bad, hash: stored.entryHash })}`);
      else {
        const what = event === null ? screen.paint(bad === null ? "dim" : "bad", bad ?? "erased") : visible(JSON.stringify(event));
        screen.line(`${screen.paint("dim", `${seq} ${new Date(at).toISOString()}`)} ${visible(kind)} ${what}`);
      }
      first = false;
    }
    if (given.json) screen.line("]");
    return EXIT.success;
  });

const onSnapshot = (given: Given, work: (look: ReadOnlyStore, records: Records) => Promise<number>): Promise<number> =>
  withReadOnlyStore(given, (look) => withSnapshot(look, ({ records }) => work(look, records)));

function readable(records: Records, { seq, at, kind, payload }: StoredEntry) {
  if (payload === null) return { seq, at, kind, event: null, bad: null };
  const read = decodePayload(kind, payload, records.blob);
  return read.kind === "event"
    ? { seq, at, kind, event: read.event, bad: null }
    : { seq, at, kind, event: null, bad: `bad: ${read.detail}` };
}

function sizeOf(records: Records, stream: StreamId) {
  let [entries, lastAt] = [0, 0];
  for (const { at } of records.entries(stream)) [entries, lastAt] = [entries + 1, at];
  return { stream, entries, lastAt };
}

async function streamOf(look: ReadOnlyStore, records: Records, text: string): Promise<StreamId> {
  const names = [...records.streams()];
  const exact = isStreamName(text) ? streamId(text) : null;
  if (exact !== null && names.includes(exact)) return exact;
  const others = names.filter((name) => !isSessionStream(name));
  try {
    return (await findSessionByText(look.journal, text)).session;
  } catch (error) {
    if (!(error instanceof FaultError) || error.fault.kind !== "session-unknown") throw error;
    const hint = `streams beside sessions: ${others.join(", ")}; \`orgate journal show\` lists all`;
    throw new FaultError({ kind: "usage", detail: `there is no stream \`${text}\``, hint }, error);
  }
}

export const head: RunCommand = (given, screen) =>
  withReadOnlyStore(given, async (look) => {
    const text = headText(await look.head());
    screen.line(given.json ? JSON.stringify({ head: text }) : text);
    return EXIT.success;
  });

export const exportTo: RunCommand = (given, screen) =>
  onSnapshot(given, async (look, records) => {
    const wanted = given.text("session");
    const session = wanted === null ? null : (await findSessionByText(look.journal, wanted)).session;
    const lines = session === null ? exportJournal(records, PROOF_PORTS) : exportSession(records, session, PROOF_PORTS);
    const out = given.text("out");
    if (out === null) {
      if (given.json)
        throw new FaultError({
          kind: "usage",
          detail: "--json needs --out FILE here",
          hint: "an export is JSON lines already: leave --json out",
        });
      for (const line of lines) {
        if (!screen.isOpen()) break;
        screen.write(line);
      }
      return EXIT.success;
    }
    const { lines: written } = writeExportFile(resolve(given.cwd, out), lines);
    if (given.json) screen.line(JSON.stringify({ file: out, lines: written, session, head: headText(await look.head()) }));
    else screen.line(`${count(written, "line")} written to ${visible(out)}`);
    return EXIT.success;
  });

export const rotateKey: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const writer = given.flag("writer");
  const person = await permittedPerson(given, screen, config, {
    act: { kind: "manage-keys" },
    what: `replace the ${writer ? "writer's" : "root"} key`,
  });
  return writingProject(config, async (place) => {
    await certifyIfNeeded(given, screen, place, person);
    const { keyring } = place;
    const { from, to } = writer ? await keyring.rotateWriter() : await keyring.rotateRoot();
    const publicKey = keyring.ring().keys.get(to)?.publicKey ?? null;
    if (given.json) screen.line(JSON.stringify({ of: writer ? "writer" : "root", from, to, publicKey }));
    else {
      screen.line(`the ${writer ? "writer's" : "root"} key ${from} is replaced by ${to}`);
      if (!writer) screen.line(`verify with either; the new one is ${publicKey ?? ""}`);
    }
    return EXIT.success;
  });
};
