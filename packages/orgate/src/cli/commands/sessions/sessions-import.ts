/** `orgate sessions import`: a conversation from a file, as a session of its own. The library checks it, cleans it and labels it (H-7, G-35). */

import { resolve } from "node:path";
import { type Entry, FaultError, fold, isFault, toHistory } from "@orgate/core";
import { decodePayload } from "@orgate/core/journal";
import { type ExportRead, readExport } from "@orgate/core/proof";
import { errorMessage } from "@orgate/core/vocab";
import { count, EXIT, nextCommand, type RunCommand, visible } from "@orgate/shell/terminal";
import type { HistoryInput } from "../../../files/file-input.ts";
import { readTextFile } from "../../../files/text-file.ts";
import { assertMayAct } from "../../../runtime/people/approvals.ts";
import { PROOF_PORTS } from "../../../store/open-read-only.ts";
import { certifyIfNeeded, findCaller, loadCommandProject, openGivenProject } from "../project/project.ts";
import { withRuntime } from "./run.ts";

type Conversation = Readonly<{ history: readonly HistoryInput[]; labels: readonly string[] }>;

const MAX_BYTES = 512 * 1024 * 1024; // what a message may have is checked by whoever opens the session

export const importFile: RunCommand = async (given, screen) => {
  const [file = ""] = given.args;
  const agent = given.text("agent");
  if (agent === null)
    throw new FaultError({ kind: "usage", detail: "--agent is missing", hint: "say whose conversation it becomes: --agent NAME" });
  const { history, labels } = conversationIn(file, textIn(file, given.cwd));
  const desk = await loadCommandProject(openGivenProject(given), given.env, agent);
  const person = findCaller(given, screen);
  assertMayAct(desk.gate, person, { kind: "open", what: { kind: "agent", agent } }, `open a session of ${agent}`); // before anything is recorded, their key included
  return withRuntime(given, screen, { project: desk, by: { kind: "user", id: person.name } }, async (runtime) => {
    await certifyIfNeeded(given, screen, runtime.place, person);
    const id = given.text("id");
    if (id !== null && (await runtime.sessions.find(id)) !== null)
      throw new FaultError({
        kind: "usage",
        detail: `there is a session \`${id}\` already`,
        hint: "choose another --id: nothing was imported",
      });
    const added = [...new Set([...labels, ...given.texts("label")])];
    const opened = await runtime.sessions.import({ agent, history, labels: added, ...(id === null ? {} : { id }) }).catch(inFile(file));
    const carried = [...(await runtime.sessions.restore(opened.session)).labels];
    if (given.json) screen.line(JSON.stringify({ ...opened, messages: history.length, labels: carried }));
    else {
      const under = carried.length === 0 ? "" : `, labelled ${carried.map(visible).join(", ")}`;
      screen.line(`${screen.paint("strong", opened.session)} imported: ${count(history.length, "message")}${under}`);
      screen.line(screen.paint("dim", `go on: ${nextCommand(given, `run ${visible(agent)} --session ${opened.session} --input "…"`)}`));
    }
    return EXIT.success;
  });
};

function textIn(file: string, cwd: string): string {
  try {
    return readTextFile(resolve(cwd, file), MAX_BYTES);
  } catch (error) {
    throw bad(file, null, errorMessage(error));
  }
}

/** An export of a session proves itself; a list of messages is what the library's `sessions.import` takes. */
function conversationIn(file: string, text: string): Conversation {
  const [first = ""] = text.split("\n", 1);
  const header = parsed(first);
  if (isRecord(header) && header.kind === "header") return exported(file, readExport(text, String(header.root), PROOF_PORTS));
  const json = parsed(text);
  if (json === undefined) throw bad(file, 1, "it is neither an export of a session nor JSON");
  const history: unknown = isRecord(json) ? json.history : json;
  if (!Array.isArray(history)) throw bad(file, 1, "it has no list of messages");
  const labels: unknown = isRecord(json) ? (json.labels ?? []) : [];
  if (!Array.isArray(labels) || !labels.every((one) => typeof one === "string")) throw bad(file, 1, "`labels` is no list of texts");
  if (history.length === 0) throw bad(file, 1, "its list of messages is empty: there is nothing to import");
  return { history, labels };
}

/** The conversation as it stood at the end of the file, with the labels of that moment; the runtime's own notes stay behind. */
function exported(file: string, { what, stream, torn, firstBad, records }: ExportRead): Conversation {
  if (what !== "session" || stream === null)
    throw bad(file, 1, "it is a whole journal", "export one session: `orgate journal export --session ID --out FILE`");
  if (torn) throw bad(file, null, "its end is missing");
  if (firstBad !== null) throw bad(file, firstBad.line, `it was changed after it was exported: ${firstBad.reason}`);
  const entries: Entry[] = [];
  for (const e of records.entries(stream)) {
    const read = e.payload === null ? null : decodePayload(e.kind, e.payload, records.blob);
    if (read?.kind !== "event") throw bad(file, null, `entry ${e.seq} was erased on request, or cannot be read`);
    entries.push({ stream, seq: e.seq, at: e.at, event: read.event });
  }
  const state = fold(entries);
  if (state === null) throw bad(file, null, "it has no entries");
  return { history: toHistory(state).history.filter(({ role }) => role !== "note"), labels: [...state.labels] };
}

/** Adds the file's name to an error about a message in it. */
const inFile =
  (file: string) =>
  (error: unknown): never => {
    if (isFault(error, "history-invalid")) throw bad(file, null, error.message);
    throw error;
  };

const HINT =
  'import an export of one session (`orgate journal export --session ID`), or JSON such as [{ "role": "user", "text": "…" }, { "role": "assistant", "text": "…" }]';
const bad = (file: string, line: number | null, detail: string, hint = HINT): FaultError =>
  new FaultError({ kind: "file-bad", file, line, column: null, detail, hint });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
