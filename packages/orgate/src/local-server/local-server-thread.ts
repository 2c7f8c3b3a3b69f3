/**
 * The line's end of `local-server-worker.ts`.
 * Loading a project and running turns never keep the line waiting: the shell's own server is in a thread of its own, and what is asked of a person in there is asked at the line.
 * S-3 a server's thread that ends by itself is a fault with what to do, and the terminal is given back; what was in progress goes on at the next start.
 */

import { extname } from "node:path";
import type { Readable } from "node:stream";
import { Worker } from "node:worker_threads";
import { errorMessage, FaultError } from "@orgate/core/vocab";
import { connectTo, type ServerConnection } from "@orgate/shell";
import type { AskHidden, Given, Screen } from "@orgate/shell/terminal";
import { visibleLines } from "@orgate/shell/terminal";
import { type FromServer, type LocalServerSetup, type ToServer, toGivenText } from "./local-server-frames.ts";

export type CommandOutput = Readonly<{ code: number; text: string }>;
type Waiting = Readonly<{ done(ran: CommandOutput): void; failed(error: Error): void }>;

/** How long leaving may take; work that has not landed by then continues from the journal. */
const LEAVING_MS = 5_000;

export async function startLocalServerThread(given: Given, screen: Screen, ask: AskHidden): Promise<ServerConnection> {
  const isColoured = screen.paint("strong", "x") !== "x";
  const workerData: LocalServerSetup = { given: toGivenText(given), columns: screen.columns, isColoured };
  // runs from source and compiled alike: the thread's file has the extension that this one has
  const file = new URL(`./local-server-worker${extname(import.meta.url)}`, import.meta.url);
  const worker = new Worker(file, { workerData, env: { ...given.env }, stdout: true, stderr: true });
  const opened = Promise.withResolvers<Extract<FromServer, { kind: "open" }>>();
  const over = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<FaultError>();
  const running = new Map<number, Waiting>();
  let [last, isLeaving] = [0, false];

  const tell = (frame: ToServer): void => worker.postMessage(frame);
  const gone = (why: string): void => {
    const fault = stopped(why);
    opened.reject(fault);
    for (const { failed } of running.values()) failed(fault);
    over.resolve();
    if (!isLeaving) lost.resolve(fault);
  };
  worker.on("message", (frame: FromServer) => {
    switch (frame.kind) {
      case "open":
        return opened.resolve(frame);
      case "failed":
        isLeaving = true; // it says so itself
        return opened.reject(frame.fault === null ? new Error(frame.message) : new FaultError(frame.fault));
      case "aside":
        return screen.aside(frame.text);
      case "ask":
        return void said(frame.question).then((text) => tell({ kind: "said", id: frame.id, text }));
      case "ran":
        running.get(frame.id)?.done(frame);
        running.delete(frame.id);
        return;
      case "closed":
        return over.resolve();
    }
  });
  worker.on("error", (error) => gone(errorMessage(error)));
  worker.on("exit", (code) => gone(`its thread ended with ${code}`));
  for (const stream of [worker.stdout, worker.stderr]) passOn(stream, screen);

  const said = async (question: string): Promise<string | null> => {
    if (ask === null) return null;
    return ask(question).catch(() => null);
  };
  const leave = async (): Promise<void> => {
    isLeaving = true;
    tell({ kind: "close" });
    const timer = setTimeout(over.resolve, LEAVING_MS);
    await over.promise;
    clearTimeout(timer);
    await worker.terminate();
  };
  try {
    const { url, token, name } = await opened.promise;
    return {
      ...connectTo(url, token),
      name,
      isLocal: true,
      lost: lost.promise,
      runCommand: (argv) =>
        new Promise((done, failed) => {
          last += 1;
          running.set(last, { done, failed });
          tell({ kind: "run", id: last, argv, columns: screen.columns });
        }),
      close: leave,
    };
  } catch (error) {
    await leave();
    throw error;
  }
}

const stopped = (why: string): FaultError =>
  new FaultError({
    kind: "unreachable",
    what: "the shell's own server",
    detail: why,
    hint: "start `orgate shell` again: the journal has everything, and what was in progress goes on",
  });

/** Output of the project's code would tear the picture: it is printed as separate lines. */
function passOn(stream: Readable, screen: Screen): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (piece: string) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) screen.aside(visibleLines(lines.join("\n")));
  });
}
