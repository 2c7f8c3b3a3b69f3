/**
 * The counter: a process of its own that outlives every victim. It is the model (asked over HTTP, either plainly by a driver's in-process
 * model or in the form of chat completions) and it is where every effect takes place, so that its count is nobody's claim.
 * What it holds it never answers: the victim hangs there until it is killed.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Case, effectKey, FINAL, resultOf } from "./cases.ts";
import type { Context, Line, Order, Reply, Report } from "./wire.ts";

type Run = { readonly case: Case; hold: string | null; calls: number };
const runs = new Map<string, Run>();

const report = (r: Report): void => void process.send?.(r);

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

function serve({ name, run }: Readonly<{ name: string; run: Run }>, path: string, body: string, response: ServerResponse): void {
  const log = (line: Line): void => report({ kind: "line", run: name, line });
  const json = (status: number, value: unknown): void =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  /** True the first time that what is to be held comes along. */
  function isHeld(what: string): boolean {
    if (run.hold !== what) return false;
    run.hold = null;
    log({ kind: "held", what });
    return true;
  }

  /** Null when there is no answer: held, or refused. */
  function reply(context: Context): Reply | null {
    const refuse = (why: string): null => {
      log({ kind: "refused", why });
      json(400, { error: { message: why, type: "invalid_request_error" } });
      return null;
    };
    const answered = new Set(context.results.map(({ id }) => id));
    const open = context.calls.filter((id) => !answered.has(id));
    if (open.length > 0) return refuse(`${open.length} tool call(s) have no result in the conversation`);
    const index = run.case.beats.findIndex(({ after }) => after === context.results.length);
    const beat = run.case.beats[index];
    if (beat === undefined) return refuse(`${context.results.length} tool results fit nowhere in the conversation`);
    log({ kind: "asked", step: index + 1, seen: context.results.map(({ text }) => text) });
    if (isHeld(`model ${index + 1}`)) return null;
    log({ kind: "answered", step: index + 1 });
    if (beat.calls.length === 0) return { kind: "text", text: FINAL };
    return { kind: "calls", calls: beat.calls.map(({ tool, n }) => ({ id: `call_${++run.calls}`, tool, n })) };
  }

  if (path === "effect") {
    const key = effectKey(JSON.parse(body));
    log({ kind: "effect", key });
    if (!isHeld(`effect ${key}`)) json(200, { text: resultOf(key) });
  } else if (path === "model") {
    const said = reply(JSON.parse(body));
    if (said !== null) json(200, said);
  } else if (path === "v1/chat/completions") {
    const asked: ChatRequest = JSON.parse(body);
    const said = reply(contextOf(asked));
    if (said !== null) complete(asked.stream === true, said, response, json);
  } else json(404, { error: { message: `there is no ${path}` } });
}

// chat completions

type ChatMessage = Readonly<{ role: string; content?: unknown; tool_calls?: readonly { readonly id: string }[]; tool_call_id?: string }>;
type ChatRequest = Readonly<{ messages: readonly ChatMessage[]; stream?: boolean }>;

const contextOf = ({ messages }: ChatRequest): Context => ({
  calls: messages.flatMap(({ tool_calls }) => tool_calls?.map(({ id }) => id) ?? []),
  results: messages.flatMap(({ role, tool_call_id: id, content }) =>
    role === "tool" && id !== undefined ? [{ id, text: typeof content === "string" ? content : JSON.stringify(content) }] : [],
  ),
});

function complete(stream: boolean, said: Reply, response: ServerResponse, json: (status: number, value: unknown) => void): void {
  const base = { id: "chatcmpl-1", created: 0, model: "fake" };
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const finish_reason = said.kind === "text" ? "stop" : "tool_calls";
  const tool_calls =
    said.kind === "text"
      ? undefined
      : said.calls.map(({ id, tool, n }, index) => ({
          index,
          id,
          type: "function",
          function: { name: tool, arguments: JSON.stringify({ n }) },
        }));
  const message = { role: "assistant", content: said.kind === "text" ? said.text : null, tool_calls };
  if (!stream) {
    json(200, { ...base, object: "chat.completion", usage, choices: [{ index: 0, message, finish_reason }] });
    return;
  }
  const chunk = (choice: object | null): string =>
    `data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", choices: choice === null ? [] : [{ index: 0, ...choice }], ...(choice === null ? { usage } : {}) })}\n\n`;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`${chunk({ delta: message, finish_reason: null })}${chunk({ delta: {}, finish_reason })}${chunk(null)}data: [DONE]\n\n`);
}

const server = createServer(async (request, response) => {
  const [, name = "", ...rest] = (request.url ?? "").split("/");
  const run = runs.get(name);
  if (run === undefined) return void response.writeHead(404).end();
  serve({ name, run }, rest.join("/"), await bodyOf(request), response);
});
process.on("message", (order: Order) => {
  if (order.kind === "open") runs.set(order.run, { case: order.case, hold: order.hold ? order.case.hold : null, calls: 0 });
  else report({ kind: "line", run: order.run, line: { kind: "killed" } });
});
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the counter has no port");
  report({ kind: "listening", url: `http://127.0.0.1:${address.port}` });
});
