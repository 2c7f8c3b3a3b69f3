/**
 * The conversation before a session: checked when it is imported, folded when it opens, drawn from another session when it is forked.
 * A request made of it is valid for every provider: each call is answered once, in order, before anything else is said.
 */

import type { Message } from "../../reason/port.ts";
import {
  type Attachment,
  type CallId,
  callId,
  describeFault,
  FaultError,
  fileBytes,
  type HistoryCall,
  type HistoryMessage,
  type Part,
  type ProposedCall,
  parseArgs,
  readAttachments,
} from "../../vocab/index.ts";
import { callsIn, isSettled, type State } from "../state.ts";
import { assistantMessage, noteMessage, observation, toolMessage, userMessage } from "./conversation.ts";
import { say } from "./evolve-conversation.ts";

const MAX_MESSAGES = 10_000;
const MAX_CHARS = 1_000_000;
const MAX_ALL_CHARS = 16_000_000;
const MAX_ALL_FILE_BYTES = 100 * 1024 * 1024;

/** H-7 untrusted, whatever its type says: the fault names the message. Returns what counts of it, as the journal will have it. */
export function checkHistory(history: readonly HistoryMessage[]): readonly HistoryMessage[] {
  if (!Array.isArray(history)) throw new FaultError({ kind: "history-invalid", index: 0, detail: "it is no list" });
  if (history.length > MAX_MESSAGES)
    throw new FaultError({ kind: "history-invalid", index: MAX_MESSAGES, detail: `there are more than ${MAX_MESSAGES}` });
  let [chars, bytes] = [0, 0];
  const checked: HistoryMessage[] = [];
  for (const [index, said] of history.entries()) {
    const bad = invalid(index);
    if (typeof said !== "object" || said === null) throw bad("it is no message");
    if (said.role === "note") throw bad("role `note` is the runtime's own");
    if (said.role === "assistant" && !Array.isArray(said.calls ?? [])) throw bad("`calls` is no list");
    if (said.role === "assistant") for (const call of callsOf(said)) checkCall(call, bad);
    if (said.role === "tool" && typeof said.isError !== "boolean") throw bad("`isError` is neither true nor false");
    const length = typeof said.text === "string" ? said.text.length + callChars(said) : 0;
    if (length > MAX_CHARS) throw bad(`it is longer than ${MAX_CHARS} characters`);
    chars += length;
    if (chars > MAX_ALL_CHARS) throw bad(`all of it is longer than ${MAX_ALL_CHARS} characters`);
    const one = copyOf(said, bad);
    if (one.role === "user") bytes += (one.files ?? []).reduce((n, file) => n + fileBytes(file), 0);
    if (bytes > MAX_ALL_FILE_BYTES) throw bad(`all its files have more than ${MAX_ALL_FILE_BYTES} bytes`);
    checked.push(one);
  }
  checkOrder(checked);
  return checked;
}

/** Well-formed, as it is stored: two ids that are one in the journal are one here, and who goes on at once sees what who resumes sees. */
function copyOf(said: HistoryMessage, bad: Bad): HistoryMessage {
  const { role } = said;
  const text = wellFormed(said.text);
  if (role === "tool") return { role, id: wellFormed(said.id), text, isError: said.isError };
  if (role === "user") {
    const files = checkedFiles(said.files ?? [], bad);
    return files.length === 0 ? { role, text } : { role, text, files };
  }
  if (role === "note") return { role, text };
  const calls = callsOf(said).map((call) => ({ id: wellFormed(call.id), tool: call.tool, text: wellFormed(call.text) }));
  return calls.length === 0 ? { role, text } : { role, text, calls };
}
type Bad = (detail: string) => FaultError;
function checkedFiles(given: unknown, bad: Bad): readonly Attachment[] {
  const read = readAttachments(given);
  if (read.kind === "refused") throw bad(describeFault(read.fault).message);
  return read.files;
}
const wellFormed = (text: string): string => (typeof text === "string" ? text.toWellFormed() : text); // what is no text is refused next

/** Roles, texts and answers: what must hold of a fork's history too. */
function checkOrder(history: readonly HistoryMessage[]): void {
  const ids = new Set<string>();
  let open: { readonly at: number; readonly calls: HistoryCall[] } = { at: 0, calls: [] };
  for (const [index, said] of history.entries()) {
    const bad = invalid(index);
    const { role } = said;
    if (role !== "user" && role !== "assistant" && role !== "tool" && role !== "note") throw bad(`role \`${String(role)}\``);
    if (typeof said.text !== "string") throw bad("it has no text");
    if (index === 0 && role !== "user") throw bad("the first message is not the user's");
    if (role === "tool") {
      const call = open.calls.shift();
      if (call === undefined) throw bad(`no call \`${said.id}\` waits for a result`);
      if (call.id !== said.id) throw bad(`it answers \`${said.id}\`, and call \`${call.id}\` comes first`);
      continue;
    }
    const [waits] = open.calls;
    if (waits !== undefined) throw bad(`call \`${waits.id}\` of message ${open.at} has no result yet`);
    const calls = role === "assistant" ? callsOf(said) : [];
    const files = role === "user" ? (said.files ?? []) : [];
    if (said.text === "" && calls.length === 0 && files.length === 0) throw bad("it has no text");
    for (const { id } of calls) {
      if (ids.has(id)) throw bad(`call id \`${id}\` is used twice`);
      ids.add(id);
    }
    open = { at: index, calls: [...calls] };
  }
  const [left] = open.calls;
  if (left !== undefined) throw invalid(open.at)(`call \`${left.id}\` has no result`);
}

function checkCall(call: HistoryCall, bad: (detail: string) => FaultError): void {
  if (typeof call !== "object" || call === null || typeof call.text !== "string") throw bad("a call has no arguments' text");
  if (typeof call.id !== "string" || call.id === "" || call.id.length > 256) throw bad("a call has no id of 1 to 256 characters");
  if (typeof call.tool !== "string" || !TOOL.test(call.tool)) throw bad(`\`${String(call.tool)}\` is no name of a tool`);
  const args = parseArgs(call.text);
  if (args.kind === "not-json") throw bad(`the arguments of call \`${call.id}\` are not JSON: ${args.detail}`);
}
const TOOL = /^[A-Za-z0-9_-]{1,128}$/;

const invalid =
  (index: number) =>
  (detail: string): FaultError =>
    new FaultError({ kind: "history-invalid", index, detail });
const callsOf = ({ calls }: Extract<HistoryMessage, { role: "assistant" }>): readonly HistoryCall[] => calls ?? [];
const callChars = (said: HistoryMessage): number => (said.role === "assistant" ? callsOf(said).reduce((n, c) => n + c.text.length, 0) : 0);

// ── folded: from what was said to the conversation ──

/** Calls of before the first reply are `0.N`: no id of this session's own replies is like them. */
export function hearHistory(s: State, history: readonly HistoryMessage[]): void {
  const calls = new Map<string, ProposedCall>();
  for (const said of history)
    switch (said.role) {
      case "user":
        say(s, userMessage(said.text, said.files));
        break;
      case "note":
        say(s, noteMessage(said.text));
        break;
      case "assistant": {
        const parts: Part[] = said.text === "" ? [] : [{ kind: "text", text: said.text, meta: null }];
        for (const { id, tool, text } of callsOf(said)) {
          const call: ProposedCall = { id: callId(`0.${calls.size}`), wireId: id, tool, text, meta: null };
          calls.set(id, call);
          s.wireIds.add(id);
          parts.push({ kind: "call", ...call });
        }
        say(s, assistantMessage(parts));
        break;
      }
      case "tool": {
        const call = calls.get(said.id);
        if (call !== undefined) say(s, toolMessage(call, { kind: said.isError ? "error" : "result", text: said.text }));
        break;
      }
    }
}

// ── drawn from a session: what its fork begins with ──

/** H-10 the conversation as it stands; calls without an outcome become unknown, because they may have been run there since. */
export function toHistory(s: State): Readonly<{ history: readonly HistoryMessage[]; unknown: readonly CallId[] }> {
  const history = s.messages.slice(s.cleared).flatMap(toSaid);
  const unknown: CallId[] = [];
  const t = s.turn;
  for (const c of callsIn(t)) {
    const { id, wireId, tool } = c.proposed;
    if (t !== null && isSettled(c)) {
      const o = observation(c, t);
      history.push({ role: "tool", id: wireId, text: o.text, isError: o.kind !== "result" });
      continue;
    }
    unknown.push(id);
    const text = `[unknown] ${tool}: this conversation was forked from another one while the call was open there. Whether it took effect is not known here: do not assume either way.`;
    history.push({ role: "tool", id: wireId, text, isError: true });
  }
  for (const message of s.queued) history.push(...toSaid(message));
  checkOrder(history);
  return { history, unknown };
}

/** Thinking stays behind: its signatures are good for the turn it belongs to. */
function toSaid(m: Message): readonly HistoryMessage[] {
  switch (m.role) {
    case "user": {
      const { text, files = [] } = m;
      if (files.length > 0) return [{ role: "user", text, files }];
      return text === "" ? [] : [{ role: "user", text }];
    }
    case "note":
      return m.text === "" ? [] : [{ role: "note", text: m.text }];
    case "tool":
      return [{ role: "tool", id: m.wireId, text: m.text, isError: m.isError }];
    case "assistant": {
      const text = m.parts.flatMap((p) => (p.kind === "text" ? [p.text] : [])).join("");
      const calls = m.parts.flatMap((p) => (p.kind === "call" ? [{ id: p.wireId, tool: p.tool, text: p.text }] : []));
      if (text === "" && calls.length === 0) return [];
      return [calls.length === 0 ? { role: "assistant", text } : { role: "assistant", text, calls }];
    }
  }
}
