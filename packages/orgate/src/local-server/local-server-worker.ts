/** The thread of a shell's own server: loading a project and running turns never keep the line waiting. */

import { parentPort, workerData } from "node:worker_threads";
import { errorMessage, FaultError } from "@orgate/core/vocab";
import type { Screen } from "@orgate/shell/terminal";
import { coloured, plain } from "@orgate/shell/terminal";
import type { LocalServer } from "./local-server.ts";
import { type FromServer, fromGivenText, type LocalServerSetup, type ToServer } from "./local-server-frames.ts";

const tell = (frame: FromServer): void => parentPort?.postMessage(frame);

const asking = new Map<number, PromiseWithResolvers<string>>();
let asked = 0;
function ask(question: string): Promise<string> {
  asked += 1;
  const answer = Promise.withResolvers<string>();
  asking.set(asked, answer);
  tell({ kind: "ask", id: asked, question });
  return answer.promise;
}

/** Nothing can be typed in this thread: questions go to the shell's line. */
function screenOf({ isColoured }: LocalServerSetup, columns: number, write: (text: string) => void): Screen {
  const paint = isColoured ? coloured : plain;
  return {
    write,
    line: (text = "") => write(`${text}\n`),
    aside: (text) => tell({ kind: "aside", text }),
    progress: () => {},
    paint,
    paintAside: paint,
    isTerminal: false,
    isAsideTerminal: false,
    columns,
    isOpen: () => true,
    readInput: () => Promise.reject(new Error("there is no input in a shell")),
  };
}

async function run(setup: LocalServerSetup, { id, argv, columns }: Extract<ToServer, { kind: "run" }>): Promise<void> {
  let text = "";
  const screen = {
    ...screenOf(setup, columns, (more) => {
      text += more;
    }),
    aside: (more: string) => {
      text += `${more}\n`;
    },
    askHidden: ask,
  };
  const { cwd, env, project } = setup.given;
  const { command } = await import("../main.ts");
  const code = await command(project === null ? argv : [...argv, "--project", project], { cwd, env }, screen);
  tell({ kind: "ran", id, code, text });
}

async function serve(setup: LocalServerSetup): Promise<LocalServer | null> {
  try {
    const { startLocalServer: serveHere } = await import("./local-server.ts");
    const screen = screenOf(setup, setup.columns, (text) => tell({ kind: "aside", text: text.trimEnd() }));
    const own = await serveHere(fromGivenText(setup.given), screen, ask);
    tell({ kind: "open", url: own.url, token: own.token, name: own.name });
    return own;
  } catch (error) {
    const message = errorMessage(error);
    tell({ kind: "failed", fault: error instanceof FaultError ? error.fault : null, message });
    return null;
  }
}

function isSetup(given: unknown): given is LocalServerSetup {
  return typeof given === "object" && given !== null && "given" in given;
}

const given: unknown = workerData;
if (parentPort !== null && isSetup(given)) {
  const port = parentPort;
  const serving = serve(given);
  port.on("message", (frame: ToServer) => {
    if (frame.kind === "run") void run(given, frame);
    else if (frame.kind === "said") {
      const answer = asking.get(frame.id);
      asking.delete(frame.id);
      if (frame.text === null) answer?.reject(new FaultError({ kind: "usage", detail: "it was not said: nothing was done", hint: "" }));
      else answer?.resolve(frame.text);
    } else {
      for (const answer of asking.values()) answer.reject(new Error("the shell is leaving"));
      void serving
        .then((own) => own?.close())
        .finally(() => {
          tell({ kind: "closed" });
          port.close();
        });
    }
  });
}
