/** Saying, steering and cancelling: signed intents, delivered in whichever of the three ways is open (design §5). */

import {
  canEndWithoutAgent,
  checkAttachments,
  type Gate,
  type Intent,
  type IntentBody,
  type IntentId,
  type IntentMessage,
  isFault,
  type RunResult,
  type Seq,
  type SessionId,
  toSessionAct,
} from "@orgate/core";
import { eachEntry } from "@orgate/core/journal";
import { createNarrator } from "@orgate/protocol/view";
import type { Screen } from "@orgate/shell/terminal";
import { EXIT, type Given, type RunCommand } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { carryOrTakeOver } from "../../../runtime/delivery.ts";
import { assertMayAct } from "../../../runtime/people/approvals.ts";
import { type AcceptedIntent, sendIntent } from "../../../runtime/people/send-intent.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { Person } from "../../../store/keyring.ts";
import type { ReadOnlyStore } from "../../../store/open-read-only.ts";
import {
  causeText,
  certifyIfNeeded,
  findCaller,
  findSessionByText,
  loadCommandProject,
  positive,
  readGivenFiles,
  sessionAct,
  withReadOnlyStore,
  writingProject,
} from "../project/project.ts";
import { driven, printResult, requireRunnable, toExitCode, withRuntime } from "../sessions/run.ts";

export const say: RunCommand = async (given, screen) =>
  wish(given, screen, { kind: given.flag("after") ? "follow-up" : "say", ...(await spoken(given, screen)) });
export const steer: RunCommand = async (given, screen) => wish(given, screen, { kind: "steer", ...(await spoken(given, screen)) });
export const cancel: RunCommand = (given, screen) =>
  wish(given, screen, { kind: given.flag("all") ? "cancel-all" : "cancel", reason: given.text("reason") ?? "cancelled by hand" });

export const clear: RunCommand = (given, screen) => wish(given, screen, { kind: "clear" });
export const compact: RunCommand = (given, screen) => {
  const tokens = given.text("tokens");
  return wish(given, screen, { kind: "compact", tokens: tokens === null ? null : positive(tokens, "--tokens") });
};
export const model: RunCommand = (given, screen) => wish(given, screen, { kind: "choose-model", model: given.args[1] ?? "" });

async function spoken(given: Given, screen: Screen): Promise<IntentMessage> {
  const text = await causeText(given.args[1] ?? "", "what you say", screen);
  const files = checkAttachments(readGivenFiles(given)); // all of them together, before anything is sent
  return files.length === 0 ? { text } : { text, files };
}

/** How long a holder may take before the command says that it waits no longer. */
const WAIT_MS = 10_000;

function wish(given: Given, screen: Screen, wanted: IntentBody): Promise<number> {
  return withReadOnlyStore(given, async (look, config) => {
    const found = await findSessionByText(look.journal, given.args[0] ?? "");
    const { session, agent } = found;
    const person = findCaller(given, screen);
    const act = toSessionAct(wanted.kind);
    const gate = act === null ? null : await gateHere(given, look, config, session);
    if (gate !== null && act !== null) assertMayAct(gate, person, sessionAct(act, found), `${act} in ${session}`);
    return sendWish(given, screen, { look, config, session, agent, person }, wanted);
  });
}

/** Q-22 Where the project does not load here, the session's holder decides by the policies in force there. */
async function gateHere(given: Given, look: ReadOnlyStore, config: Config, session: SessionId): Promise<Pick<Gate, "decideFor"> | null> {
  try {
    return (await loadCommandProject(config, given.env)).gate;
  } catch (error) {
    if (isFault(error) && (await look.holder(session)) !== null) return null;
    throw error;
  }
}

export type Addressee = Readonly<{
  look: ReadOnlyStore;
  config: Config;
  session: Intent["session"];
  agent: string;
  person: Person;
  /** Of an intent in the inbox that is delivered again instead of a new one. */
  pending?: IntentId;
  /** Prints the intent, once no reason against sending it was found. */
  announce?(): void;
}>;

/** Signs and delivers the intent, and reports its result. */
export async function sendWish(given: Given, screen: Screen, to: Addressee, wanted: IntentBody): Promise<number> {
  return tellSent(given, screen, to.look, { sent: await deliverWish(given, screen, to, wanted) });
}

export type SentIntent = AcceptedIntent & Readonly<{ drove: RunResult | null }>;

/** Signed and delivered; throws `intent-refused` with the reason. */
export async function deliverWish(
  given: Given,
  screen: Screen,
  { look, config, session, agent, person, pending, announce }: Addressee,
  wanted: IntentBody,
): Promise<SentIntent> {
  await certifyIfNew(given, screen, { look, config, person });
  const id = pending ?? NODE.ids.intent();
  let drove: RunResult | null = null;
  const before = await look.journal.session(session);
  const runnable = async () => {
    const desk = await loadCommandProject(config, given.env);
    if (!canEndWithoutAgent(wanted)) await requireRunnable(desk, given.env, { name: agent, session });
    return desk;
  };
  if ((await look.holder(session)) === null) await runnable(); // Q-24 what cannot be carried out here is not sent: it would count later, after somebody was told that it failed
  announce?.();
  const takeOver = async (): Promise<"drove" | "held"> => {
    if ((await look.holder(session)) !== null) return "held";
    const desk = await runnable();
    drove = await withRuntime(given, screen, { project: desk, by: { kind: "user", id: person.name } }, (runtime) =>
      driven(given, screen, (options) => runtime.resume(session, options), runtime.inspect.events(session)),
    );
    return "drove";
  };
  const { journal, inbox } = look;
  const carrier = carryOrTakeOver({ inbox, directory: config.journal.directory, waitMs: WAIT_MS, takeOver });
  const { entry, intent } = await sendIntent({ journal, clock: NODE.clock, carrier }, { session, wish: wanted, as: person, id });
  const wasAtRest = before?.state === "idle" || before?.state === "closed";
  const hasTurn = !wasAtRest || (await look.journal.session(session))?.turns !== before.turns;
  const isOurs = entry === null || !(await wasHeldAfter(look.journal, session, entry.seq));
  return { entry, intent, drove: hasTurn && isOurs ? drove : null }; // the result of a turn long ended, or that another process drove, is no answer to this
}

/** True when somebody took the session after this entry: then the earlier holder wrote the entry, and not the one who took it up because of it. */
export async function wasHeldAfter(journal: Pick<ReadOnlyStore["journal"], "read">, session: SessionId, entry: Seq): Promise<boolean> {
  for await (const { event } of eachEntry(journal, session, entry)) if (event.kind === "hold.taken") return true;
  return false;
}

/** Signing counts only for a certified key; who only looks need not take a writer's slot to see that it is. */
async function certifyIfNew(
  given: Given,
  screen: Screen,
  { look, config, person }: Pick<Addressee, "look" | "config" | "person">,
): Promise<void> {
  const found = (await look.keys()).keys.get(person.key.id);
  if (found !== undefined && found.withdrawn === null) return;
  await writingProject(config, (place) => certifyIfNeeded(given, screen, place, person));
}

/** `more`: further fields of the JSON. */
type ToldIntent = Readonly<{ sent: SentIntent; more?: Readonly<Record<string, unknown>> }>;

export async function tellSent(given: Given, screen: Screen, look: ReadOnlyStore, { sent, more = {} }: ToldIntent): Promise<number> {
  const { entry, intent, drove } = sent;
  if (given.json) {
    const event = entry === null ? null : { seq: entry.seq, ...entry.event };
    const state = entry === null ? "pending" : "taken";
    screen.line(JSON.stringify({ intent: intent.id, session: intent.session, state, event, result: drove, ...more }));
    return drove !== null ? toExitCode(drove) : entry === null ? EXIT.waiting : EXIT.success;
  }
  if (drove !== null) return printResult(given, screen, { head: await look.head(), result: drove });
  for (const line of becameLines(sent)) screen.line(line);
  return entry === null ? EXIT.waiting : EXIT.success;
}

export function becameLines({ entry, intent: { id, session } }: SentIntent): readonly string[] {
  if (entry === null) return [`sent as ${id}, and not taken yet: whoever holds ${session} will`];
  return createNarrator()(entry).map(({ text }) => `entry ${entry.seq} of ${session}: ${text}`);
}
