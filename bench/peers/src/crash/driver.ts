/** What every framework's driver is: the documented way to start, to take up again, and to answer. */
import type { Call } from "./cases.ts";
import type { Context, Outcome, Reply } from "./wire.ts";

export type World = Readonly<{
  /** All that is left to the next process. */
  folder: string;
  /** The model, asked by whatever the framework takes for one. */
  ask(context: Context): Promise<Reply>;
  /** What a tool does: counted outside, and answered from there. */
  effect(call: Call): Promise<string>;
  /** For frameworks that want a model over HTTP: an address that speaks chat completions. */
  counter: string;
}>;

export type Driver = Readonly<{
  start(world: World): Promise<Outcome>;
  resume(world: World): Promise<Outcome>;
  answer(world: World): Promise<Outcome>;
}>;

export const ended = (text: string): Outcome => ({ kind: "ended", text });
export const parked: Outcome = { kind: "parked" };
export const lost = (why: string): Outcome => ({ kind: "lost", why });

export function worldOf(counter: string, folder: string): World {
  async function post(path: string, body: unknown): Promise<unknown> {
    const response = await fetch(`${counter}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`the model refused the request: ${await response.text()}`);
    return response.json();
  }
  return {
    folder,
    counter,
    ask: async (context) => (await post("model", context)) as Reply,
    effect: async (call) => ((await post("effect", call)) as { text: string }).text,
  };
}
