/** Where the desk lies, and what its tools did to the world: kept by the world and not by the runtime, an honest count of effects. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";

export const desk = import.meta.dirname;
export const effects = join(desk, "effects.jsonl");

type Effect = { readonly tool: string; readonly key: string; readonly start: number; readonly pid: number };
export const happened = (tool: string, key: string, start: number): void => {
  const effect: Effect = { tool, key, start, pid: process.pid };
  appendFileSync(effects, `${JSON.stringify(effect)}\n`);
};
