/**
 * Restate makes sure that somebody drives a session; the journal decides what is true (decision 0062). A session is a virtual object with two handlers:
 *   - `wake` runs at any time beside others: it looks whether somebody drives the session, and has it advanced if nobody does;
 *   - `advance` runs once at a time for a session: it has the session driven until it waits or has ended, and comes back when something is due by itself.
 * Nothing of a session travels through Restate but its id, so messages that come twice, late, or to two workers change nothing: the hold and the conditional
 * append let one process go on. No message queues behind a running turn: its driver sees the inbox.
 * `@restatedev/restate-sdk` is an optional package, loaded when a project names a Restate server (decision 0056).
 */
import { once } from "node:events";
import { createServer, type Http2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { FaultError, isSessionId, type SessionId } from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import type * as Sdk from "@restatedev/restate-sdk";
import type { RestateConfig } from "../../../config/restate-schema.ts";
import { schedulesName, serviceName } from "./summons.ts";

/** Time until a session is to be looked at again; null: only when somebody asks. */
export type Advanced = Readonly<{ againMs: number | null }>;
export type RestatePorts = Readonly<{
  /** Has the session driven here, unless another process does. */
  advance(session: SessionId): Promise<Advanced>;
  /** `free`: nobody drives it; otherwise when to look again. */
  look(session: SessionId): Promise<Readonly<{ kind: "free" } | ({ kind: "held" } & Advanced)>>;
  /** Fires schedules that are due. */
  fire(): Promise<void>;
  /** Restate cannot be reached; it is tried again. */
  failed(error: unknown): void;
}>;
export type RestateEndpoint = Readonly<{
  url: string;
  /** Once more, where Restate does not ask: it has lost what it knew, or the worker that it knows is gone. Does nothing while it is being tried. */
  register(): void;
  close(): Promise<void>;
}>;

const SDK = "@restatedev/restate-sdk@1.17.2";
/** Above any turn: Restate would otherwise end an invocation that says nothing, and start it elsewhere, in vain. */
const LONGEST_TURN_MS = 7 * 86_400_000;
const REQUEST_MS = 10_000;
/** Between two tries to register. */
const AGAIN_MS = 2_000;
/**
 * Of an invocation whose worker does not answer. It is given up before it keeps a session's later messages waiting for long: a sweep finds what was to be done.
 * An invocation that pauses would keep them waiting for ever.
 */
const RETRY = { initialInterval: 250, exponentiationFactor: 2, maxInterval: 5_000, maxAttempts: 8, onMaxAttempts: "kill" } as const;

/** Serves the handlers and tells Restate where, as soon as there is one. */
export async function serveRestate(config: RestateConfig, schema: string, ports: RestatePorts): Promise<RestateEndpoint> {
  const sdk = await loadSdk();
  const handler = sdk.createEndpointHandler({
    services: [sessionObject(sdk, serviceName(schema), ports), schedulesObject(sdk, schedulesName(schema), ports)],
    ...(config.identity.length === 0 ? null : { identityKeys: [...config.identity] }),
    logger: () => {}, // failures are in Restate's own log, and in what the driver reports
  });
  const server = createServer(handler);
  const links = new Set<Http2Session>();
  server.on("session", (link) => void links.add(link.once("close", () => links.delete(link)).on("error", () => {})));
  await listen(server, config);
  const { port } = server.address() as AddressInfo;
  const url = config.endpoint ?? `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${port}`;
  const closing = new AbortController();
  const close = async (): Promise<void> => {
    closing.abort();
    server.close();
    for (const link of links) link.destroy(); // Restate gives what was under way to another worker
  };
  const registering = new Registration(config.admin, url, { failed: ports.failed, signal: closing.signal });
  try {
    await registering.begin();
  } catch (error) {
    await close();
    throw error;
  }
  return { url, register: () => void registering.begin().catch(ports.failed), close };
}

async function listen(server: ReturnType<typeof createServer>, { host, port }: RestateConfig): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    const detail = `a worker cannot listen for Restate on ${host}:${port}: ${errorMessage(error)}`;
    throw new FaultError(
      { kind: "usage", detail, hint: "set `port` of `restate` in [cluster] of orgate.toml; 0 takes any that is free" },
      error,
    );
  }
}

function sessionObject(sdk: typeof Sdk, service: string, { advance, look }: RestatePorts) {
  const again = (ctx: Sdk.ObjectSharedContext, method: "wake" | "advance", delay: number): void =>
    void ctx.genericSend({ service, method, key: ctx.key, parameter: new Uint8Array(), inputSerde: sdk.serde.binary, delay });
  return sdk.object({
    name: service,
    options: optionsOf(),
    handlers: {
      // What the journal says is looked at inside `run`: a repeated invocation does the same with the same answer.
      advance: async (ctx: Sdk.ObjectContext): Promise<void> => {
        const { againMs } = await ctx.run("advance", () => advance(keyOf(sdk, ctx.key)));
        if (againMs !== null) again(ctx, "wake", againMs);
      },
      wake: sdk.handlers.object.shared(async (ctx: Sdk.ObjectSharedContext): Promise<void> => {
        const found = await ctx.run("look", () => look(keyOf(sdk, ctx.key)));
        if (found.kind === "free") again(ctx, "advance", 0);
        else if (found.againMs !== null) again(ctx, "wake", found.againMs);
      }),
    },
  });
}

/** The process that fires asks for the next due time itself. */
const schedulesObject = (sdk: typeof Sdk, name: string, { fire }: RestatePorts) =>
  sdk.object({
    name,
    options: optionsOf(),
    handlers: {
      fire: sdk.handlers.object.shared(async (ctx: Sdk.ObjectSharedContext): Promise<void> => void (await ctx.run("fire", fire))),
    },
  });

const optionsOf = () => ({ inactivityTimeout: LONGEST_TURN_MS, abortTimeout: LONGEST_TURN_MS, journalRetention: 0, retryPolicy: RETRY });

/** A name that is no session's is answered once, and not tried again. */
function keyOf(sdk: typeof Sdk, key: string): SessionId {
  if (!isSessionId(key)) throw new sdk.TerminalError(`\`${key}\` is not the id of a session`, { errorCode: 400 });
  return key;
}

type Registering = Readonly<{ failed(error: unknown): void; signal: AbortSignal }>;

/** A Restate that refuses is an error of the settings; one that does not answer may come back: meanwhile sweeps find the work. */
class Registration {
  readonly #admin: string;
  readonly #uri: string;
  readonly #to: Registering;
  #isTrying = false;

  constructor(admin: string, uri: string, to: Registering) {
    this.#admin = admin;
    this.#uri = uri;
    this.#to = to;
  }

  /** Throws where Restate refuses at once; later failures are told of. */
  async begin(): Promise<void> {
    if (this.#isTrying) return;
    this.#isTrying = true;
    await this.#try();
  }

  async #try(): Promise<void> {
    const { failed, signal } = this.#to;
    const error = await register(this.#admin, this.#uri).finally(() => {
      this.#isTrying = false;
    });
    if (error === null || signal.aborted) return;
    failed(error);
    this.#isTrying = true;
    setTimeout(() => void this.#try().catch(failed), AGAIN_MS).unref();
  }
}

/** What kept it from being asked; null when it is registered. Throws where Restate refuses. */
async function register(admin: string, uri: string): Promise<FaultError | null> {
  const bad = (detail: string, cause?: unknown): FaultError => {
    const hint = "check `restate` in [cluster] of orgate.toml, and that Restate reaches the worker";
    return new FaultError({ kind: "usage", detail: `Restate at ${admin} does not take this worker (${uri}): ${detail}`, hint }, cause);
  };
  let answer: Response;
  try {
    answer = await fetch(`${admin}/deployments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ uri, force: true }),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
  } catch (error) {
    return bad(errorMessage(error instanceof Error && error.cause !== undefined ? error.cause : error), error);
  }
  const text = await answer.text();
  if (answer.ok) return null;
  if (answer.status >= 500) return bad(`${answer.status} ${text.slice(0, 300)}`);
  throw bad(`${answer.status} ${text.slice(0, 300)}`);
}

async function loadSdk(): Promise<typeof Sdk> {
  try {
    return await import("@restatedev/restate-sdk");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    const detail = "`restate` in [cluster] needs the package `@restatedev/restate-sdk`";
    throw new FaultError({ kind: "usage", detail, hint: `install it: \`npm install ${SDK}\`` }, error);
  }
}
