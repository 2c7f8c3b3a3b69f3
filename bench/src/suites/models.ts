/**
 * What a call of a model costs over the provider's own package, both against the same server in another process, in turns; how long the first word is on
 * its way; and whether five hundred streams at once on one core lose anything, which fails rather than being reported.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createAnthropic } from "@ai-sdk/anthropic";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Model, ModelRequest, Preview } from "@orgate/core";
import { namedModel } from "orgate";
import { type Contender, compare, type Effort, ratio, spread } from "../measure.ts";
import { digits, type Report } from "../report.ts";

const NEVER = new AbortController().signal;
const WORDS = 50;
const REQUEST: ModelRequest = {
  system: "You keep the ledger.",
  context: [],
  messages: [],
  tools: [],
  answer: null,
  temperature: 0,
  maxOutputTokens: 1_024,
  attempt: 1,
};
/** What ours becomes: the same body goes out. */
const OPTIONS: LanguageModelV4CallOptions = {
  prompt: [
    { role: "system", content: REQUEST.system, providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } },
    {
      role: "user",
      content: [{ type: "text", text: "[the beginning of this conversation is not shown]" }],
      providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
    },
  ],
  temperature: 0,
  maxOutputTokens: 1_024,
};

async function served<T>(words: number, use: (url: string) => Promise<T>): Promise<T> {
  const server: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, "models-server.ts"), String(words)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    if (server.stdout === null) throw new Error("the server says nothing");
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    return await use(`http://127.0.0.1:${Number(line.toString())}`);
  } finally {
    server.stdin?.end();
  }
}

const ours = (url: string): Model =>
  namedModel("anthropic/claude-sonnet-4-5", { env: { ANTHROPIC_API_KEY: "sk-bench-000000000", ANTHROPIC_BASE_URL: `${url}/v1` } });

/** How long the first word was on its way, in microseconds; null where it is another word. */
const delayOf = (text: string): number | null =>
  text.startsWith("@") ? Number(process.hrtime.bigint() - BigInt(text.slice(1).trim())) / 1_000 : null;

export async function modelCalls({ effort, calls }: { readonly effort: Effort; readonly calls: number }): Promise<Report> {
  return served(WORDS, async (url) => {
    const raw = createAnthropic({ apiKey: "sk-bench-000000000", baseURL: `${url}/v1` })("claude-sonnet-4-5");
    const model = ours(url);
    const delays: Record<"raw" | "ours", number[]> = { raw: [], ours: [] };

    async function askRaw(): Promise<void> {
      const { stream } = await raw.doStream(OPTIONS);
      let text = "";
      for await (const piece of stream) {
        if (piece.type !== "text-delta") continue;
        const delay = delayOf(piece.delta);
        if (delay !== null) delays.raw.push(delay);
        else text += piece.delta;
      }
      checkText(text, WORDS);
    }
    async function askOurs(): Promise<void> {
      let text = "";
      const show = (preview: Preview): void => {
        const delay = delayOf(preview.text);
        if (delay !== null) delays.ours.push(delay);
        else text += preview.text;
      };
      await model.ask(REQUEST, show, NEVER);
      checkText(text, WORDS);
    }
    const times = (ask: () => Promise<void>) => async () => {
      for (let i = 0; i < calls; i += 1) await ask();
    };
    const contenders: readonly Contender[] = [
      { label: "the provider's package (floor)", units: calls, run: times(askRaw) },
      { label: "orgate's model over it", units: calls, run: times(askOurs) },
    ];
    const measured = await compare(contenders, effort);
    const [floor, over] = measured;
    if (floor === undefined || over === undefined) throw new Error("nothing was measured");
    const more = spread(over.rounds.map((s, i) => s.cpuUs - (floor.rounds[i]?.cpuUs ?? 0))).median;
    const [first, bare] = [spread(delays.ours), spread(delays.raw)];
    return {
      name: "models",
      title: `A model call, ${WORDS} words streamed by a local server in another process`,
      unit: "µs/call",
      by: "cpu",
      lines: measured.map((m, i) => ({
        ...m,
        ratio: m === floor ? null : ratio(m, floor, "cpuUs"),
        more: `first word after ${digits((i === 0 ? bare : first).median)} µs [${digits((i === 0 ? bare : first).min)}–${digits((i === 0 ? bare : first).max)}]`,
      })),
      aims: [
        {
          what: "first preview, from the server's write to the reader",
          want: "< 1 ms",
          got: `${digits(first.median)} µs`,
          met: first.median < 1_000,
        },
      ],
      notes: [
        `${digits(more)} µs of CPU more for each call, ${digits(more / WORDS)} for each word; the first word takes ${digits(first.median - bare.median)} µs longer`,
      ],
    };
  });
}

/** Every word, in its place, once. */
function checkText(text: string, words: number): void {
  const expected = Array.from({ length: words }, (_, i) => `word ${String(i).padStart(4, "0")} `).join("");
  if (text !== expected) throw new Error(`words were lost: ${text.length} of ${expected.length} characters`);
}

export async function modelStreams({ rounds, streams }: { readonly rounds: number; readonly streams: number }): Promise<Report> {
  const words = 40;
  return served(words, async (url) => {
    const model = ours(`${url}/slowly`);
    const samples: { cpuUs: number; wallUs: number; previews: number; rss: number }[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      let previews = 0;
      const [began, before] = [performance.now(), process.cpuUsage()];
      const replies = await Promise.all(
        Array.from({ length: streams }, async () => {
          let text = "";
          const reply = await model.ask(
            REQUEST,
            (preview) => {
              previews += 1;
              if (preview.offset !== text.length) throw new Error("a preview is not where it belongs");
              text += preview.text;
            },
            NEVER,
          );
          checkText(text, words);
          return reply.parts.map((part) => part.text).join("");
        }),
      );
      const used = process.cpuUsage(before);
      for (const reply of replies) checkText(reply, words);
      if (previews !== streams * words) throw new Error(`events were lost: ${previews} of ${streams * words}`);
      if (round === 0) continue; // warm-up
      samples.push({
        cpuUs: (used.user + used.system) / previews,
        wallUs: ((performance.now() - began) * 1_000) / previews,
        previews,
        rss: process.memoryUsage().rss / 1_048_576,
      });
    }
    const wall = spread(samples.map((s) => s.wallUs));
    const total = streams * words;
    return {
      name: "model-streams",
      title: `${streams} streams at once in one process, ${words} words each`,
      unit: "µs/word",
      by: "wall",
      lines: [
        {
          label: `${streams} streams`,
          cpu: spread(samples.map((s) => s.cpuUs)),
          wall,
          ratio: null,
          more: `${digits(1e6 / wall.median)} words/s, ${digits(Math.max(...samples.map((s) => s.rss)))} MB resident`,
        },
      ],
      aims: [
        {
          what: "words that reached their reader, in place and once",
          want: `all ${total}`,
          got: `${samples[0]?.previews ?? 0}`,
          met: true,
        },
      ],
      notes: [
        "a lost, doubled or misplaced word ends the benchmark with an error; on one core: `taskset -c 0 npm run bench -- --only models`",
      ],
    };
  });
}
