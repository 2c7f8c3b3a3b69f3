/**
 * The coordinator beside bare servers of the same machine, in the same run: `ws` that sends a text to everybody, `ws` that echoes, `node:http` that answers
 * with the same bytes. Server and clients are two processes; what the clients cost falls on both alike.
 */
import { type ChildProcess, fork } from "node:child_process";
import { Agent, get } from "node:http";
import { join } from "node:path";
import { WebSocket } from "ws";
import { spread } from "../measure.ts";
import { digits, type Line, type Report } from "../report.ts";

type Order = Readonly<{ kind: string; [field: string]: unknown }>;
type Server = Readonly<{ port: number; bare: number; order<T>(order: Order): Promise<T>; end(): Promise<void> }>;

async function startServer(): Promise<Server> {
  const child: ChildProcess = fork(join(import.meta.dirname, "..", "soak-server.ts"), ["0"], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const gone = Promise.withResolvers<never>();
  child.once("exit", (code, signal) => gone.reject(new Error(`the server has ended (${code ?? signal})`)));
  gone.promise.catch(() => {}); // heard of by whoever waits for it
  const heard = <T>(kind: string): Promise<T> =>
    new Promise((resolve, reject) => {
      gone.promise.catch(reject);
      const on = (message: { kind: string }): void => {
        if (message.kind !== kind) return;
        child.off("message", on);
        resolve(message as T);
      };
      child.on("message", on);
    });
  const { port, bare } = await heard<{ port: number; bare: number }>("ready");
  const order = async <T>(given: Order): Promise<T> => {
    const answer = heard<T>(given.kind);
    child.send(given);
    return answer;
  };
  const end = async (): Promise<void> => {
    const over = new Promise((resolve) => child.once("exit", resolve));
    await order({ kind: "end" });
    await over;
  };
  return { port, bare, order, end };
}

const opened = (socket: WebSocket): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    socket.once("open", () => resolve(socket)).once("error", reject);
  });
const connect = (port: number, path: string): Promise<WebSocket> =>
  opened(new WebSocket(`ws://127.0.0.1:${port}${path}`, { perMessageDeflate: false }));
const line = (label: string, us: readonly number[], more: string): Line => ({ label, cpu: null, wall: spread(us), ratio: null, more });
const p99 = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0;
const against = (ours: Line, floor: Line): Line => ({ ...ours, ratio: (ours.wall?.median ?? 0) / (floor.wall?.median ?? 1) });

/** Entries to every subscriber, at a pace that the floor keeps too. */
export async function fanOut({
  subscribers,
  entries,
  perSecond,
  rounds,
}: {
  readonly subscribers: number;
  readonly entries: number;
  readonly perSecond: number;
  readonly rounds: number;
}): Promise<Report> {
  const server = await startServer();
  type Round = Readonly<{ wallMs: number; delays: readonly number[] }>;
  type Both = Readonly<{ floor: Round; ours: Round }>;
  const delays: number[] = [];
  let isOver = false;
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {}); // heard of by whoever waits for a round
  const guarded = (socket: WebSocket, whose: string): WebSocket =>
    socket.on("close", (code, reason) => {
      if (!isOver) lost.reject(new Error(`a socket of ${whose} was closed: ${code} ${String(reason)}`)); // else a round would be waited for in vain
    });
  let [left, all] = [0, Promise.withResolvers<void>()];
  const took = (at: number): void => {
    delays.push(Date.now() - at);
    left -= 1;
    if (left === 0) all.resolve();
  };
  async function measured(start: () => Promise<unknown>): Promise<Round> {
    delays.length = 0;
    [left, all] = [subscribers * entries, Promise.withResolvers<void>()];
    const began = performance.now();
    await Promise.race([Promise.all([start(), all.promise]), lost.promise]);
    return { wallMs: performance.now() - began, delays: [...delays] };
  }
  const bare = await Promise.all(Array.from({ length: subscribers }, () => connect(server.bare, "/")));
  for (const socket of bare) guarded(socket, "the floor").on("message", (text) => took((JSON.parse(String(text)) as { at: number }).at));
  const ours = await Promise.all(
    Array.from({ length: subscribers }, async () => {
      const socket = guarded(await connect(server.port, "/ws/v1"), "the coordinator");
      const caught = new Promise<void>((resolve) => {
        socket.on("message", (text) => {
          const frame = JSON.parse(String(text)) as { kind: string; items?: { entry?: { at: number } }[] };
          if (frame.kind === "caught-up") resolve();
          if (frame.kind === "entries") for (const { entry } of frame.items ?? []) if (entry !== undefined) took(entry.at);
        });
      });
      socket.send(
        JSON.stringify({ kind: "hello", version: 1, resume: [{ id: "all", to: { kind: "all" }, after: "now", previews: false }] }),
      );
      await caught;
      return socket;
    }),
  );
  const taken = { burst: [] as Both[], paced: [] as Both[] };
  for (let i = 0; i < rounds; i += 1)
    for (const [how, pace] of [["burst", AT_ONCE] as const, ["paced", perSecond] as const]) {
      const floor = await measured(() => server.order({ kind: "shout", count: entries, perSecond: pace, bytes: 400 }));
      taken[how].push({ floor, ours: await measured(() => server.order({ kind: "open", count: entries, perSecond: pace })) });
    }
  isOver = true;
  for (const socket of [...bare, ...ours]) socket.terminate();
  await server.end();
  const figures = (label: string, of: "floor" | "ours"): Line => {
    const per = taken.burst.map((round) => (round[of].wallMs * 1_000) / (subscribers * entries));
    const late = (how: "burst" | "paced"): number => spread(taken[how].map((round) => p99(round[of].delays))).median;
    const told = Math.round(1e6 / spread(per).median).toLocaleString("en");
    return line(label, per, `${told} entries/s told; p99 delay ${late("paced")} ms at ${perSecond} entries a second`);
  };
  const floor = figures("ws sends a text to each (floor)", "floor");
  return {
    name: "fan-out",
    title: `${entries} entries to ${subscribers} subscribers`,
    unit: "µs per entry told",
    by: "wall",
    lines: [floor, against(figures("journal to /ws/v1, each entry durable first", "ours"), floor)],
    aims: [],
    notes: ["The delay is from the entry's own time (for the floor: from the send) to its arrival in the client's process."],
  };
}
const AT_ONCE = 1e9;

/** A whole turn: said over a socket, journalled, decided, answered by the offline model, ended, and told. */
export async function chatRoundTrip({ turns, rounds }: { readonly turns: number; readonly rounds: number }): Promise<Report> {
  const server = await startServer();
  const bare = await connect(server.bare, "/");
  const ours = await connect(server.port, "/ws/v1");
  ours.send(JSON.stringify({ kind: "hello", version: 1, resume: [{ id: "all", to: { kind: "all" }, after: "now", previews: false }] }));
  const until = (socket: WebSocket, is: (text: string) => boolean): Promise<void> =>
    new Promise((resolve) => {
      const on = (bytes: unknown): void => {
        if (!is(String(bytes))) return;
        socket.off("message", on);
        resolve();
      };
      socket.on("message", on);
    });
  await until(ours, (text) => text.includes('"caught-up"'));
  const [floors, mine]: [number[], number[]] = [[], []];
  let said = 0;
  for (let round = 0; round < rounds; round += 1)
    for (let i = 0; i < turns; i += 1) {
      said += 1;
      const echoed = until(bare, (text) => text === `hello ${said}`);
      let began = performance.now();
      bare.send(`hello ${said}`);
      await echoed;
      floors.push((performance.now() - began) * 1_000);
      const ended = until(ours, (text) => text.includes('"turn.ended"'));
      began = performance.now();
      ours.send(
        JSON.stringify({
          kind: "call",
          id: `c${said}`,
          operation: "execute",
          input: { params: { agent: "clerk" }, body: { input: `hello ${said}`, waitMs: 0 } },
        }),
      );
      await ended;
      mine.push((performance.now() - began) * 1_000);
    }
  bare.terminate();
  ours.terminate();
  await server.end();
  const floor = line("ws echoes (floor)", floors, `p99 ${digits(p99(floors) / 1_000)} ms`);
  return {
    name: "chat",
    title: "From what is said to the end of the turn, on the offline model",
    unit: "µs per round trip",
    by: "wall",
    lines: [floor, against(line("a turn of a new session, every step durable", mine, `p99 ${digits(p99(mine) / 1_000)} ms`), floor)],
    aims: [],
    notes: ["A turn is some ten entries in several appends with `synchronous = full`; the floor writes nothing."],
  };
}

/** One session read by its id, by so many at a time. */
export async function reads({
  requests,
  atOnce,
  rounds,
}: {
  readonly requests: number;
  readonly atOnce: number;
  readonly rounds: number;
}): Promise<Report> {
  const server = await startServer();
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  const read = (port: number, path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      get({ port, host: "127.0.0.1", path, agent }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => {
          text += piece;
        });
        response.on("end", () => resolve(text));
      }).on("error", reject);
    });
  await server.order({ kind: "open", count: 1, perSecond: 1_000 });
  const page = JSON.parse(await read(server.port, "/api/v1/sessions")) as { items: { session: string }[] };
  const path = `/api/v1/sessions/${page.items[0]?.session ?? ""}`;
  await server.order({ kind: "body", text: await read(server.port, path) });
  async function many(port: number): Promise<number> {
    const began = performance.now();
    let left = requests;
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (; left > 0; ) {
          left -= 1;
          await read(port, path);
        }
      }),
    );
    return ((performance.now() - began) * 1_000) / requests;
  }
  await many(server.bare);
  await many(server.port);
  const [floors, mine]: [number[], number[]] = [[], []];
  for (let i = 0; i < rounds; i += 1) {
    floors.push(await many(server.bare));
    mine.push(await many(server.port));
  }
  agent.destroy();
  await server.end();
  const perSecond = (us: readonly number[]): string => `${Math.round(1e6 / spread(us).median).toLocaleString("en")} reads/s`;
  const floor = line("node:http answers the same bytes (floor)", floors, perSecond(floors));
  return {
    name: "reads",
    title: `GET /api/v1/sessions/{session}, ${atOnce} at a time`,
    unit: "µs per read",
    by: "wall",
    lines: [floor, against(line("named, limited, decided, read from the journal", mine, perSecond(mine)), floor)],
    aims: [],
    notes: [],
  };
}
