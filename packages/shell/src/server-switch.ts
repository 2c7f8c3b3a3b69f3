/**
 * Switches one user interface between servers.
 * S-2 a key goes to another machine only over TLS; a server's refusal is shown like any untrusted text.
 * S-14 restarting the local server loads the same project with the saved files; every conversation continues.
 * S-20 `/attach URL` and `/detach` change the server under the same user interface: the new one is connected first, so an unreachable one costs nothing.
 */
import { describeFault, FaultError } from "@orgate/core/vocab";
import { AUTHOR, carryOver, describeReload, NO_AUTHOR, type UsedConsents } from "./auto-approve.ts";
import type { ServerConnection } from "./connection.ts";
import type { Shell } from "./contract.ts";
import type { Given } from "./terminal/command.ts";
import type { AskHidden } from "./terminal/hidden-prompt.ts";
import type { Screen } from "./terminal/screen.ts";
import { visible } from "./terminal/visible.ts";
import type { ShellUi } from "./ui/ui.ts";

/** Setup of a shell. Only a program that has the runtime can start a local server, so it brings the function. */
export type ShellSetup = Readonly<{ given: Given; screen: Screen; startLocalServer: StartLocalServer }>;
export type StartLocalServer = (given: Given, screen: Screen, ask: AskHidden) => Promise<ServerConnection>;

export type ServerSwitch = Readonly<{
  /** Null before the first server is connected. */
  shell(): Shell | null;
  /** Connects to a server; null: the local server. */
  switchTo(url: string | null): Promise<Shell>;
  /** Settles when the local server ended by itself. */
  lost: Promise<FaultError>;
  close(): Promise<void>;
}>;

export function openServerSwitch(setup: ShellSetup, ui: ShellUi, begin: (shell: Shell) => void): ServerSwitch {
  const { promise: lost, resolve } = Promise.withResolvers<FaultError>();
  let current: Shell | null = null;
  const consented: UsedConsents | null = setup.given.flag("yes") ? new Set() : null;

  async function switchTo(url: string | null): Promise<Shell> {
    const connection = await connectToServer(url, setup, ui.askHidden);
    const { openShell } = await import("./shell.ts");
    const next = await openShell(
      connection,
      ui,
      async (to) => {
        try {
          await switchTo(to);
        } catch (error) {
          if (!(error instanceof FaultError)) throw error;
          const { message, hint } = describeFault(error.fault);
          next.say(visible(`${message}${hint === "" ? "" : `: ${hint}`}`));
        }
      },
      { consented },
    );
    void connection.lost?.then((fault) => {
      if (current === next) resolve(fault);
    });
    const before = current;
    const own = before?.connection.isLocal === true && connection.isLocal ? before : null;
    if (own !== null) carryOver(own, next);
    current = next;
    begin(next);
    if (own !== null) next.say(describeReload(namesOf(own), namesOf(next)));
    else if (connection.isLocal && !namesOf(next).includes(AUTHOR))
      next.say(`${NO_AUTHOR} (it authors agents, policies and tools with you)`);
    await before?.close();
    return next;
  }
  return { shell: () => current, switchTo, lost, close: async () => current?.close() };
}

/** By literal name only: what another name resolves to may change. */
const isLoopback = (host: string): boolean => host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);

const namesOf = (shell: Shell): readonly string[] => shell.agents().map(({ name }) => name);

export async function connectToServer(url: string | null, setup: ShellSetup, ask: AskHidden): Promise<ServerConnection> {
  const { given, screen, startLocalServer } = setup;
  if (url === null) return startLocalServer(given, screen, ask);
  const address = URL.canParse(url) ? new URL(url) : null;
  if (address === null || !/^https?:$/.test(address.protocol))
    throw new FaultError({ kind: "usage", detail: `\`${url}\` is no address of a server`, hint: "write one: http://127.0.0.1:4680" });
  if (address.protocol === "http:" && !isLoopback(address.hostname))
    throw new FaultError({
      kind: "usage",
      detail: `${address.origin} is another machine, and everybody on the way could read the key and what is said`,
      hint: `use https://${address.host}, or a tunnel: ssh -L 4680:127.0.0.1:4680 HOST, then http://127.0.0.1:4680`,
    });
  if (address.username !== "" || address.password !== "")
    throw new FaultError({
      kind: "usage",
      detail: "an address of a server holds no name and no password",
      hint: "leave them out: $ORGATE_API_KEY says who you are, or the key is asked for, hidden",
    });
  const token = given.env.ORGATE_API_KEY || (ask === null ? "" : await ask(`API key for ${address.host}: `).catch(() => ""));
  if (token === "")
    throw new FaultError({
      kind: "usage",
      detail: "$ORGATE_API_KEY is not set",
      hint: "set it to an API key of that server: `orgate keys create NAME --api` makes one",
    });
  const { connectTo } = await import("./connection.ts");
  const connection = connectTo(address.href, token);
  const me = await connection.client.call("whoami", {}).catch((error: unknown) => {
    const why = error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : String(error);
    throw new FaultError({ kind: "unreachable", what: address.host, detail: why, hint: "is it up? `orgate up` serves a project" }, error);
  });
  if (me.kind === "problem")
    throw new FaultError({ kind: "usage", detail: `${address.host}: ${me.problem.detail}`, hint: me.problem.hint });
  return { ...connection, name: address.host, isLocal: false, lost: null, runCommand: null, close: async () => {} };
}
