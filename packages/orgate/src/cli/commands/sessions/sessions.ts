import { type Entry, FaultError, fold, isFault, type SessionId, type State, toResult } from "@orgate/core";
import { decodePayload, eachEntry, type Records, type StoredEntry } from "@orgate/core/journal";
import { addUsage, haltText, liftText, NO_USAGE, toCallSubject, type Usage } from "@orgate/core/vocab";
import { createNarrator, filesText, tokensText } from "@orgate/protocol/view";
import type { Screen } from "@orgate/shell/terminal";
import { count, EXIT, type Given, type RunCommand, visible } from "@orgate/shell/terminal";
import { readHalts } from "../../../runtime/people/halted.ts";
import type { ReadOnlyStore } from "../../../store/open-read-only.ts";
import { withSnapshot } from "../../../store/store.ts";
import { listPendingAnswers, type PendingAnswers, pendingAnswerTexts } from "../people/pending-answers.ts";
import { findSessionByText, loadCommandProject, openGivenProject, withReadOnlyStore } from "../project/project.ts";
import { adviseOnTrust, driven, printResult, requireRunnable, toExitCode, withRuntime } from "./run.ts";
import { shownIn, TONES } from "./sessions-list.ts";

type Stored = Readonly<{ kind: "entry"; entry: Entry } | { kind: "erased"; seq: number; at: number; what: string }>;

export const showSession: RunCommand = (given, screen) =>
  withReadOnlyStore(given, async (look) => {
    const summary = await findSessionByText(look.journal, given.args[0] ?? "");
    const stored = await storedOf(look, summary.session);
    const entries = stored.flatMap((s) => (s.kind === "entry" ? [s.entry] : []));
    const erased = stored.length - entries.length;
    const state = erased > 0 ? null : fold(entries);
    const pending = await listPendingAnswers(look, summary.session);
    const { holder, halted, shown } = await shownIn(look, summary, await readHalts(look.journal));
    if (given.json) {
      const { questions = [], unknowns = [] } = state === null ? {} : toResult(state);
      screen.line(
        JSON.stringify({
          ...summary,
          shown,
          halted,
          holder,
          erased,
          questions,
          pending: pending.answers,
          unknowns: withEvidence(unknowns, entries),
          entries,
        }),
      );
      return EXIT.success;
    }
    printHead(screen, { ...summary, holder, shown, halted }, lostIn(entries));
    printTimeline(screen, stored, summary.openedAt);
    printOpen(screen, state, entries, pending);
    if (erased > 0) screen.line(`\n${count(erased, "entry was", "entries were")} erased on request: this session cannot go on`);
    return EXIT.success;
  });

/** Chain checked. Where entries were erased, what is left is shown as it is stored: `verify` proves it. */
async function storedOf(look: ReadOnlyStore, session: SessionId): Promise<readonly Stored[]> {
  try {
    const stored: Stored[] = [];
    for await (const entry of eachEntry(look.journal, session)) stored.push({ kind: "entry", entry });
    return stored;
  } catch (error) {
    if (!isFault(error, "entry-erased")) throw error;
  }
  const toStored = ({ blob }: Records, e: StoredEntry): Stored => {
    const read = e.payload === null ? null : decodePayload(e.kind, e.payload, blob);
    if (read?.kind !== "event") return { kind: "erased", seq: e.seq, at: e.at, what: e.kind };
    return { kind: "entry", entry: { stream: session, seq: e.seq, at: e.at, event: read.event } };
  };
  return withSnapshot(look, ({ records }) => [...records.entries(session)].map((e) => toStored(records, e)), session);
}

/** Reserved for model calls of its turns that were cut off. */
const lostIn = (entries: readonly Entry[]): Usage =>
  entries.reduce((sum, { event }) => (event.kind === "turn.ended" ? addUsage(sum, event.lost) : sum), NO_USAGE);

function printHead(screen: Screen, s: Awaited<ReturnType<typeof shownIn>>, lost: Usage): void {
  const { paint } = screen;
  const { holder, halted, shown: state } = s;
  const by = holder === null ? "" : `, held by ${holder.writer} (process ${holder.pid ?? "?"})`;
  screen.line(`${paint("strong", s.session)} ${paint(TONES[state], state)}${by}`);
  if (s.title !== null) screen.line(visible(s.title));
  screen.line(
    `${s.external === null ? "" : `id ${visible(s.external)}, `}agent ${visible(s.agent)}, ${count(s.turns, "turn")}, ${count(s.iterations, "iteration")}, ${tokensText({ usage: s.usage, lost })}, opened ${new Date(s.openedAt).toISOString()}`,
  );
  if (s.parent !== null) screen.line(`works for ${s.parent}: \`orgate sessions show ${s.parent}\``);
  if (s.children.length > 0) screen.line(`at work for it: ${s.children.join(", ")}`);
  if (halted !== null) screen.line(paint("warn", visible(`${haltText(halted)}: ${liftText(halted)}`)));
  if (state === "interrupted")
    screen.line(paint("warn", `its process ended in the middle of a turn: \`orgate sessions resume ${s.session}\``));
  screen.line();
}

function printTimeline(screen: Screen, stored: readonly Stored[], start: number): void {
  const { paint } = screen;
  const tellOf = createNarrator();
  const digits = String(stored.length).length;
  for (const s of stored) {
    if (!screen.isOpen()) return;
    const [place, at] = s.kind === "entry" ? [s.entry.seq, s.entry.at] : [s.seq, s.at];
    const time = `+${((at - start) / 1_000).toFixed(3)}`.padStart(9);
    const prefix = paint("dim", `${String(place).padStart(digits)} ${time}`);
    if (s.kind === "erased") {
      screen.line(`${prefix}  · ${paint("dim", `${visible(s.what)}: erased`)}`);
      continue;
    }
    for (const { mark, tone, text, more } of tellOf(s.entry)) {
      screen.line(`${prefix}  ${paint(tone, mark)} ${tone === "good" ? text : paint(tone, text)}`);
      for (const line of more) screen.line(`${" ".repeat(digits + 14)}${line}`);
    }
  }
}

type Unknowns = ReturnType<typeof toResult>["unknowns"];

/** Adds the evidence that a call ran to the reason why its outcome is unknown. */
function withEvidence(unknowns: Unknowns, entries: readonly Entry[]) {
  return unknowns.map((unknown) => {
    const ended = entries.findLast(({ event }) => event.kind === "act.ended" && event.call === unknown.call);
    const evidence = ended?.event.kind === "act.ended" ? ended.event.evidence : null;
    return { ...unknown, entry: ended?.seq ?? null, evidence };
  });
}

function printOpen(screen: Screen, state: State | null, entries: readonly Entry[], pending: PendingAnswers): void {
  if (state === null) return;
  const { questions, unknowns } = toResult(state);
  if (state.followUps.length > 0 && !state.closed) screen.line(`\n${screen.paint("warn", "said for after the turn, and not begun")}`);
  for (const { text, files, by } of state.closed ? [] : state.followUps)
    screen.line(`  › ${visible(`${by.kind}:${by.id}`)}: ${visible(text)}${filesText(files)}`);
  if (questions.length > 0) screen.line(`\n${screen.paint("warn", "open approval requests")}`);
  for (const { approval, action, asks, digest } of questions) {
    for (const { question, policy } of asks) screen.line(`  ? ${approval} on ${action}: ${visible(question)} (${visible(policy)})`);
    screen.line(screen.paint("dim", `    bound to ${digest}`));
    for (const text of pendingAnswerTexts(pending, approval)) screen.line(screen.paint("warn", `    ${text}`));
  }
  if (unknowns.length > 0) screen.line(`\n${screen.paint("warn", "unknown outcomes")}`);
  for (const { call, tool, resource, digest, decided, outcome, evidence, entry } of withEvidence(unknowns, entries)) {
    screen.line(
      `  ? ${visible(tool)} ${call} on ${visible(`${resource.type}::${resource.id}`)}: ${outcome.cause}, ${visible(outcome.detail)}`,
    );
    const proof =
      evidence === null
        ? ""
        : `started ${count(evidence.starts, "time")}, action ${digest}, tool ${toCallSubject(decided.action)?.toolDigest?.slice(0, 12) ?? "?"}`;
    screen.line(screen.paint("dim", `    entry ${entry ?? "?"}: ${proof}`));
    screen.line(screen.paint("dim", `    orgate sessions resolve ${state.session}/${call} happened, did-not-happen, reconcile or abandon`));
  }
}

// taking one up

export const resumeSession: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const { summary, pending } = await withReadOnlyStore(given, async (look) => {
    const found = await findSessionByText(look.journal, given.args[0] ?? "");
    const holder = await look.holder(found.session);
    if (holder !== null)
      throw new FaultError({
        kind: "session-held",
        session: found.session,
        by: `writer \`${holder.writer}\` (process ${holder.pid ?? "?"})`,
      });
    return { summary: found, pending: (await look.inbox.pending(found.session)).length };
  });
  const desk = await loadCommandProject(config, given.env);
  await requireRunnable(desk, given.env, { name: summary.agent, session: summary.session });
  return withRuntime(given, screen, { project: desk, by: summary.principal }, async (runtime) => {
    if (pending === 0 && (summary.state === "idle" || summary.state === "closed")) {
      const state = await runtime.inspect.state(summary.session);
      if (state.closed || state.followUps.length === 0) return nothingToDo(given, screen, state);
    }
    if (!given.json) screen.line(`${screen.paint("strong", summary.agent)} ${screen.paint("dim", `resumed, ${summary.session}`)}`);
    const result = await driven(
      given,
      screen,
      (options) => runtime.resume(summary.session, options),
      runtime.inspect.events(summary.session),
    );
    const exit = printResult(given, screen, { head: await runtime.inspect.head(), result });
    adviseOnTrust(given, screen, desk, { name: summary.agent });
    return exit;
  });
};

function nothingToDo(given: Given, screen: Screen, state: State): number {
  const result = toResult(state);
  if (given.json) screen.line(JSON.stringify(result));
  else screen.line(`nothing to resume: ${result.ending === null ? "no turn was started" : `the last turn ended \`${result.ending}\``}`);
  return result.ending === null ? EXIT.success : toExitCode(result);
}
