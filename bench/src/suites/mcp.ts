/**
 * What a call of an MCP tool costs over the official client alone: both talk to a process of the same real server, over a pipe, in turns. The floor
 * sends a request and reads its answer; ours compares with what was accepted, checks arguments and result, bounds and cleans what came.
 */
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { callId, callKey, epoch, sessionId, type Tool, type ToolContext } from "@orgate/core";
import { listOfferedTools, openMcp } from "orgate";
import { type Contender, compare, type Effort, ratio, spread } from "../measure.ts";
import { digits, type Report } from "../report.ts";

const program = join(import.meta.dirname, "../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const entry = { command: process.execPath, args: [program, "stdio"] };
const MESSAGE = "a message of some forty characters, or so";

const session = sessionId("s_000000000001");
const context: ToolContext = {
  session,
  key: callKey(session, callId("1.0")),
  epoch: epoch(1),
  start: 1,
  signal: new AbortController().signal,
  note: () => {},
  spent: () => {},
  wouldPermit: () => "yes",
  evidence: () => {},
};

export async function mcpCalls({ effort, calls }: { readonly effort: Effort; readonly calls: number }): Promise<Report> {
  const raw = new Client({ name: "floor", version: "1" });
  await raw.connect(new StdioClientTransport({ ...entry, stderr: "ignore" }));
  const mcp = openMcp({ servers: { every: entry }, accepted: { every: await listOfferedTools("every", entry) } });
  try {
    const echo = toolNamed(mcp.tools("every"), "every__echo");
    const args = { message: MESSAGE };
    async function callRaw(): Promise<void> {
      const { content } = await raw.callTool({ name: "echo", arguments: args });
      const [first] = content;
      mustEcho(first?.type === "text" ? first.text : "");
    }
    async function callOurs(): Promise<void> {
      const checked = echo.check(args);
      if (checked.kind !== "valid") throw new Error(JSON.stringify(checked));
      mustEcho(await echo.run(checked.args, context));
    }
    const times = (call: () => Promise<void>) => async () => {
      for (let i = 0; i < calls; i += 1) await call();
    };
    const contenders: readonly Contender[] = [
      { label: "the official client (floor)", units: calls, run: times(callRaw) },
      { label: "orgate's tool over it", units: calls, run: times(callOurs) },
    ];
    const measured = await compare(contenders, effort);
    const [floor, ours] = measured;
    if (floor === undefined || ours === undefined) throw new Error("nothing was measured");
    const more = spread(ours.rounds.map((s, i) => s.cpuUs - (floor.rounds[i]?.cpuUs ?? 0))).median;
    const later = spread(ours.rounds.map((s, i) => s.wallUs - (floor.rounds[i]?.wallUs ?? 0))).median;
    return {
      name: "mcp",
      title: "A call of an MCP tool, echoed by a real server in another process",
      unit: "µs/call",
      by: "cpu",
      lines: measured.map((m) => ({ ...m, ratio: m === floor ? null : ratio(m, floor, "cpuUs"), more: "" })),
      aims: [],
      notes: [
        `${digits(more)} µs of CPU more for each call, ${digits(later)} µs later; gate, permit and journal are what the loop's benchmarks measure`,
      ],
    };
  } finally {
    await raw.close();
    await mcp.close();
  }
}

function toolNamed(tools: readonly Tool[], name: string): Tool {
  const found = tools.find((tool) => tool.name === name);
  if (found === undefined) throw new Error(`the server has no \`${name}\``);
  return found;
}

function mustEcho(answer: unknown): void {
  if (answer !== `Echo: ${MESSAGE}`) throw new Error(`another answer: ${JSON.stringify(answer)}`);
}
