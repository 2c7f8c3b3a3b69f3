/**
 * Breakers as operators see and set them. The command line, the library and whatever comes after them use this file.
 * F-9 only a certified person whom the policies permit may set or reset a breaker (`set-breaker`).
 */

import { type Agent, breakerSubject, FaultError, listAgentTools, type Millis, millis, seq } from "@orgate/core";
import { BREAKER, BREAKERS, type BreakerState, foldBreaker, type Journal, type StandingBreaker } from "@orgate/core/journal";
import { findNearestWord } from "@orgate/core/vocab";
import type { OpenProjectStore } from "../ports/project-store.ts";
import { type Acting, assertMayAct, certifyActor, demandReason } from "./approvals.ts";

/** `state` as it is now: an open one whose time is up lets calls try, whether or not anybody has written that down. */
export type BreakerView = StandingBreaker & Readonly<{ written: BreakerState }>;

const PAGE = 500;

/** All breakers that ever changed, by name, from a journal that is only read. */
export async function readBreakers(journal: Pick<Journal, "read" | "streams">, now: Millis): Promise<readonly BreakerView[]> {
  const all: BreakerView[] = [];
  for (const { stream, seq: last } of await journal.streams(BREAKERS)) {
    const one = foldBreaker(null, await journal.read(stream, seq(last - 1), PAGE)); // the last change says it all
    if (one !== null) all.push(breakerView(one, now));
  }
  return all.sort((a, b) => (a.breaker < b.breaker ? -1 : 1));
}

export const breakerView = (one: StandingBreaker, now: Millis): BreakerView => ({
  ...one,
  written: one.state,
  state: one.state === "open" && one.until !== null && now >= one.until ? "half-open" : one.state,
});

export type SetBreaker = Readonly<{ to: BreakerState; forMs: number | null; reason: string }>;

/**
 * Null if the project has what the breaker is about, or it has opened before; otherwise the refusal: a breaker under a name that is typed wrong
 * stops nothing (A-9, F-9). `anyway` is how this surface asks for one all the same.
 */
export function unknownBreaker(
  agents: readonly Agent[],
  listed: readonly Pick<BreakerView, "breaker">[],
  breaker: string,
  anyway: string,
): FaultError | null {
  if (!BREAKER.test(breaker) || listed.some((one) => one.breaker === breaker)) return null; // whoever sets it says that it is no breaker
  const tools = agents.flatMap(listAgentTools);
  const known = [
    ...tools.map(({ name }) => `tool:${name}`),
    ...agents.flatMap(({ model, fallbacks }) => [model, ...fallbacks.map((one) => one.model)]).map((name) => `model:${name}`),
    ...agents.flatMap(({ missingServers }) => missingServers.map(({ server }) => `mcp:${server}`)),
    ...tools.flatMap(({ server }) => (server == null ? [] : [`mcp:${server}`])),
  ];
  const subject = breakerSubject(breaker);
  if (known.includes(subject)) return null;
  const near = findNearestWord(subject, known);
  return new FaultError({
    kind: "usage",
    detail: `nothing was set: this project has no ${subject.replace(":", " `")}\``,
    hint: `${near === null ? "" : `did you mean \`${near}\`? `}To set one that is not here yet, or runs elsewhere: ${anyway}`,
  });
}

/** Throws `not-permitted` and `usage`. */
export async function setBreaker(
  acting: Omit<Acting, "place"> & Readonly<{ place: Pick<OpenProjectStore, "keyring" | "orders" | "breakers"> }>,
  breaker: string,
  { to, forMs, reason }: SetBreaker,
  now: Millis,
): Promise<void> {
  if (!BREAKER.test(breaker))
    throw new FaultError({
      kind: "usage",
      detail: `\`${breaker}\` is no breaker`,
      hint: "tool:NAME, model:PROVIDER/NAME or mcp:SERVER",
    });
  const what = `set breaker ${breaker}`;
  demandReason(reason, what);
  assertMayAct(acting.gate, acting.person, { kind: "set-breaker", breaker }, what);
  const by = await certifyActor(acting, what);
  const until = to === "open" && forMs !== null ? millis(now + forMs) : null;
  const { breakers } = acting.place;
  const change = { to, failures: 0, until, by, reason: reason.toWellFormed() };
  await breakers.set({ breaker, ...change });
  if (to === "open") return; // what is open for the model is open for each of its settings
  await breakers.refresh();
  const narrower = breakers
    .list()
    .filter((one) => one.breaker !== breaker && breakerSubject(one.breaker) === breaker && one.state !== "closed");
  for (const one of narrower) await breakers.set({ breaker: one.breaker, ...change });
}
