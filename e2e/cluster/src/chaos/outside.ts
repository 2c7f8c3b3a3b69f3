/**
 * The world outside of every process that is killed: the model (chat completions) and the place where effects happen. Each effect and each request
 * is a line in a file before it is answered, and the answer takes a while, so that kills fall before, into and after it.
 */

import { once } from "node:events";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { seeded } from "@orgate/e2e/seeded";
import { jobIn, type PlannedCall, scriptOf } from "./plan.ts";

/** `key` is the call's idempotency key, `start` counts how often the runtime has begun it. */
export type Effect = Readonly<{ kind: "effect"; session: string; key: string; tool: string; n: number; start: number }>;
export type ModelRequest = Readonly<{ kind: "model"; job: string; iteration: number }>;
export type Outside = Readonly<{
  url: string;
  effects(): readonly Effect[];
  requests(): readonly ModelRequest[];
  end(): Promise<void>;
}>;

const MOST_MS = { effect: 400, model: 250 } as const;

export async function openOutside(seed: number, file: string): Promise<Outside> {
  writeFileSync(file, "");
  const random = seeded(seed ^ 0x0151de);
  const happened = new Set<string>();
  const record = (line: Effect | ModelRequest): void => appendFileSync(file, `${JSON.stringify(line)}\n`);
  const lines = (): readonly (Effect | ModelRequest)[] =>
    readFileSync(file, "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const json = (value: unknown): void => void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
    const url = new URL(request.url ?? "/", "http://outside");
    if (url.pathname === "/happened") return json({ happened: happened.has(url.searchParams.get("key") ?? "") });
    const body = JSON.parse(await textOf(request));
    if (url.pathname === "/effects") {
      const { session, key, tool, n, start } = body;
      record({ kind: "effect", session, key, tool, n, start });
      happened.add(key);
      await sleep(random.between(0, MOST_MS.effect));
      return json({ text: `${tool} ${n} was done` });
    }
    const { messages }: ChatRequest = body;
    const job =
      messages.map(({ role, content }) => (role === "user" ? jobIn(JSON.stringify(content)) : null)).find((name) => name !== null) ?? "?";
    const iteration = messages.filter(({ role }) => role === "assistant").length + 1;
    record({ kind: "model", job, iteration });
    await sleep(random.between(0, MOST_MS.model));
    response.writeHead(200, { "content-type": "text/event-stream" }).end(chatStream(job, scriptOf(seed, job)[iteration - 1] ?? []));
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy()); // a killed client never receives its answer
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    effects: () => lines().flatMap((line) => (line.kind === "effect" ? [line] : [])),
    requests: () => lines().flatMap((line) => (line.kind === "model" ? [line] : [])),
    async end() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

type ChatRequest = Readonly<{ messages: readonly Readonly<{ role: string; content?: unknown }>[] }>;

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  return text;
}

const argumentsFor = (call: PlannedCall): Readonly<Record<string, unknown>> =>
  call.kind === "tool" ? { n: call.n } : { agent: "hand", task: `job ${call.job}` };

function chatStream(job: string, calls: readonly PlannedCall[]): string {
  const tool_calls = calls.map((call, index) => ({
    ...{ index, id: `call_${index}_${call.kind === "tool" ? call.n : call.job}`, type: "function" },
    function: { name: call.kind === "tool" ? call.tool : "delegate", arguments: JSON.stringify(argumentsFor(call)) },
  }));
  const says = calls.length === 0 ? { content: `job ${job} is done` } : { content: null, tool_calls };
  const chunk = (more: object): string =>
    `data: ${JSON.stringify({ id: "c", created: 0, model: "outside", object: "chat.completion.chunk", ...more })}\n\n`;
  return [
    chunk({ choices: [{ index: 0, delta: { role: "assistant", ...says }, finish_reason: null }] }),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: calls.length === 0 ? "stop" : "tool_calls" }] }),
    chunk({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }),
    "data: [DONE]\n\n",
  ].join("");
}
