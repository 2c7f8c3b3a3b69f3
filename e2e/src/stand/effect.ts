/** The effect of the stand's tools, in any process. */
import type { ToolContext } from "orgate";
import { answerTo, point, request, stay } from "./outlet.ts";
import { resultOf } from "./script.ts";

const STAY_MS = { enter: 22, got: 22 } as const;

/** The effect is a line in the counter's log. */
export async function effect(tool: string, n: number, { session, key, start, signal }: ToolContext): Promise<string> {
  const call = key.slice(key.indexOf("/") + 1);
  const at = `call ${call}#${start}`;
  point({ kind: "mark", point: `${at} enter`, step: "enter", written: [], seal: null });
  await stay(STAY_MS.enter);
  const id = request();
  const answer = answerTo(id, signal);
  point({ kind: "effect", point: `${at} sent`, request: id, session, key, call, tool, n, start });
  await answer;
  point({ kind: "mark", point: `${at} got`, step: "got", written: [], seal: null });
  await stay(STAY_MS.got);
  return resultOf(tool, n);
}
