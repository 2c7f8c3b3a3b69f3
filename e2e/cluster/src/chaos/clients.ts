/** People and programs outside: they open jobs, answer approval requests and follow along, at whichever coordinator answers. */
import { setTimeout as sleep } from "node:timers/promises";
import { type CallableOperation, createClient, type HttpTransport, type OperationInput, type OperationOutput } from "@orgate/protocol";
import { type Acknowledged, looksLike, placeOf } from "./judge.ts";
import { inputOf } from "./plan.ts";

export type Clients = Readonly<{
  acknowledged: Acknowledged;
  /** Opens the job's session once, however often a connection breaks. */
  openJob(job: string): Promise<void>;
  /** Sessions that are neither idle nor closed, by the coordinators; null while none of them answers. */
  unfinished(): Promise<readonly string[] | null>;
  /** Approves what waits for a person. */
  approveAll(): Promise<void>;
  /** Nothing begins by itself any more. */
  pauseSchedule(name: string): Promise<void>;
  end(): Promise<void>;
}>;

const ATTEMPTS = 400;

export function openClients(urls: readonly string[], apiKey: string): Clients {
  const entries = new Map<string, string>();
  const jobs = new Map<string, string>();
  const answers = new Set<string>();
  const over = new AbortController();
  let turn = 0;
  const transports = urls.map(
    (url): HttpTransport =>
      async ({ method, path, headers, body }) => {
        const response = await fetch(`${url}${path}`, {
          method,
          headers: { ...headers, authorization: `Bearer ${apiKey}` },
          ...(body === null ? {} : { body }),
          signal: AbortSignal.any([over.signal, AbortSignal.timeout(15_000)]),
        });
        const mediaType = (response.headers.get("content-type") ?? "").split(";")[0] ?? "";
        return { status: response.status, mediaType, text: () => response.text() };
      },
  );
  /** At another coordinator each time, under the same key: one effect. */
  async function persist<K extends CallableOperation>(name: K, input: OperationInput<K>, key: string): Promise<OperationOutput<K> | null> {
    for (let attempt = 0; attempt < ATTEMPTS && !over.signal.aborted; attempt += 1) {
      const transport = transports[turn++ % transports.length];
      if (transport === undefined) return null;
      const called = await createClient(transport, () => key)
        .call(name, input, { key })
        .catch(() => null);
      if (called?.kind === "ok") return called.value;
      if (called !== null && !isPassing(called.problem)) {
        // Another client was first, or the session is past it: what was meant has happened, or never can.
        if (name === "answer") return null;
        throw new Error(`${name}: ${JSON.stringify(called.problem)}`);
      }
      await sleep(100);
    }
    return null;
  }
  const following = urls.map((url) => follow(url, apiKey, entries, over.signal));
  return {
    acknowledged: { entries, jobs, answers },
    async openJob(job) {
      const result = await persist(
        "execute",
        { params: { agent: "boss" }, body: { input: inputOf(job), id: `job-${job}`, waitMs: 0 } } as OperationInput<"execute">,
        `open-${job}-of-chaos-run`,
      );
      if (result !== null) jobs.set(job, result.session);
    },
    async unfinished() {
      const lists = await Promise.all(
        (["running", "waiting"] as const).map((state) =>
          persist("sessions", { query: { state, limit: 500 } } as OperationInput<"sessions">, `list-${state}-${turn}`),
        ),
      );
      if (lists.includes(null)) return null;
      return lists.flatMap((page) => page?.items.map(({ session, state }) => `${session} is ${state}`) ?? []);
    },
    async approveAll() {
      const page = await persist("approvals", { query: { limit: 500 } } as OperationInput<"approvals">, `approvals-${turn}`);
      for (const { approval, digest } of page?.items ?? []) {
        if (answers.has(approval)) continue;
        const input = { params: { approval }, body: { digest, answer: { kind: "approve" } } } as OperationInput<"answer">;
        if ((await persist("answer", input, `answer-${approval}-in-chaos`)) !== null) answers.add(approval);
      }
    },
    async pauseSchedule(name) {
      await persist(
        "pauseSchedule",
        { params: { schedule: name }, body: { reason: "the storm is over" } } as OperationInput<"pauseSchedule">,
        "pause-in-chaos",
      );
    },
    async end() {
      over.abort();
      await Promise.all(following);
    },
  };
}

/** While its database is away, a coordinator cannot tell who may still do what, and lets nobody. */
const isPassing = ({ status, detail }: Readonly<{ status: number; detail: string }>): boolean =>
  status >= 500 || status === 429 || status === 425 || detail.includes("it is unknown whether this access is still valid");

/** Follows the whole journal at one coordinator as server-sent events, and goes on from its last position after each broken connection. */
async function follow(url: string, apiKey: string, entries: Map<string, string>, over: AbortSignal): Promise<void> {
  let after = 0;
  while (!over.aborted) {
    try {
      const response = await fetch(`${url}/api/v1/stream?after=${after}`, { headers: { authorization: `Bearer ${apiKey}` }, signal: over });
      let text = "";
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += piece;
        const whole = text.split("\n");
        text = whole.pop() ?? "";
        for (const line of whole) {
          if (!line.startsWith("data:")) continue;
          const frame = JSON.parse(line.slice(5));
          if (frame.kind !== "entries") continue;
          after = frame.to;
          for (const item of frame.items) if (item.kind === "entry") entries.set(placeOf(item.entry), looksLike(item.entry));
        }
      }
    } catch {} // it went away: another connection follows
    await sleep(100, undefined, { ref: false });
  }
}
