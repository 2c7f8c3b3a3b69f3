/**
 * The real outcome of a call whose outcome was unknown.
 *
 * Q-20 a call is named SESSION/CALL, or by its id alone where that means one open unknown; the person's word is signed, gated as `resolve`
 *     here and by the session's holder, and shown to the agent. It exits 0 only when the call is settled: a tool that could not tell,
 *     or that the gate or a halt did not let be asked, leaves it open.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type Resolution, readState, type SessionId, toResult, type Unknown } from "@orgate/core";
import { eachSession, type SessionSummary } from "@orgate/core/journal";
import { resourceText } from "@orgate/protocol/view";
import { EXIT, type Given, type RunCommand, visible } from "@orgate/shell/terminal";
import { assertMayAct } from "../../../runtime/people/approvals.ts";
import type { ReadOnlyStore } from "../../../store/open-read-only.ts";
import { findCaller, findSessionByText, loadCommandProject, withReadOnlyStore } from "../project/project.ts";
import { usage } from "./approvals.ts";
import { becameLines, deliverWish } from "./intents.ts";

const RESOLUTIONS: readonly Resolution[] = ["happened", "did-not-happen", "reconcile", "abandon"];

export const resolve: RunCommand = (given, screen) =>
  withReadOnlyStore(given, async (look, config) => {
    const [text = "", as = ""] = given.args;
    const resolution = RESOLUTIONS.find((r) => r === as);
    if (resolution === undefined) throw usage(`\`${as}\` is no resolution`, `use ${RESOLUTIONS.join(", ")}`);
    const { session, agent, unknown } = await unknownOf(look, text, given);
    const { call, tool } = unknown;
    const person = findCaller(given, screen);
    const { gate } = await loadCommandProject(config, given.env);
    assertMayAct(gate, person, { kind: "resolve", call, agent, tool }, "resolve it");
    if (!given.json) screen.line(`${screen.paint("strong", visible(tool))} ${call} on ${resourceText(unknown.resource)}: ${resolution}`);
    const note = given.text("note") ?? "";
    const sent = await deliverWish(
      given,
      screen,
      { look, config, session, agent, person },
      { kind: "resolve", call, as: resolution, note },
    );
    const taken = sent.entry !== null;
    const { left, asking } = await whatIsLeft(look, session, call, taken);
    const settled = taken && !left.includes(call);
    const event = sent.entry === null ? null : { seq: sent.entry.seq, ...sent.entry.event };
    if (given.json)
      screen.line(JSON.stringify({ intent: sent.intent.id, session, state: event === null ? "pending" : "taken", settled, event, left }));
    else {
      for (const line of becameLines(sent)) screen.line(line);
      if (taken && !settled)
        screen.line(
          screen.paint(
            "warn",
            asking
              ? `it is still open, and the tool is being asked: \`orgate sessions show ${session}\` says what came of it`
              : `it is still open: the tool could not tell, or was not let be asked; \`orgate sessions show ${session}\` says which`,
          ),
        );
    }
    return settled ? EXIT.success : !taken || asking ? EXIT.waiting : EXIT.failure;
  });

const PATIENCE_MS = 10_000;
const LOOK_EVERY_MS = 50;

/** The session's holder takes the intent first and asks the tool afterwards, which is waited for. */
async function whatIsLeft(
  { journal }: ReadOnlyStore,
  session: SessionId,
  call: Unknown["call"],
  taken: boolean,
): Promise<Readonly<{ left: readonly string[]; asking: boolean }>> {
  for (const until = performance.now() + PATIENCE_MS; ; await pause(LOOK_EVERY_MS)) {
    const state = await readState({ journal }, session);
    const asking = (state.unknowns.get(call)?.gated ?? null) !== null;
    if (!taken || !asking || performance.now() >= until) return { left: toResult(state).unknowns.map((u) => u.call), asking };
  }
}

type Found = Readonly<{ session: SessionId; agent: string; unknown: Unknown }>;

async function unknownOf(look: ReadOnlyStore, text: string, given: Given): Promise<Found> {
  const slash = text.lastIndexOf("/");
  const call = text.slice(slash + 1);
  const named = given.text("session") ?? (slash > 0 ? text.slice(0, slash) : null);
  const sessions = named === null ? await withUnknowns(look) : [await findSessionByText(look.journal, named)];
  const open: Found[] = [];
  for (const { session, agent } of sessions)
    for (const unknown of (await readState({ journal: look.journal }, session)).unknowns.values()) open.push({ session, agent, unknown });
  const found = open.filter(({ unknown }) => unknown.call === call);
  const [one, ...others] = found;
  const names = (all: readonly Found[]): string => all.map((f) => `${f.session}/${f.unknown.call}`).join(", ");
  if (one === undefined)
    throw usage(
      `no outcome of a call \`${call}\` is unknown`,
      open.length === 0 ? "there is nothing to resolve" : `open are: ${names(open)}`,
    );
  if (others.length > 0) throw usage(`\`${call}\` means ${found.length} calls`, `say which: ${names(found)}`);
  return one;
}

async function withUnknowns({ journal }: ReadOnlyStore): Promise<readonly SessionSummary[]> {
  const found: SessionSummary[] = [];
  for await (const one of eachSession(journal)) if (one.openUnknowns > 0) found.push(one);
  return found;
}
