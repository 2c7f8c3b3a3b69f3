/** `orgate run`, and how any command drives a session: shown as it happens, cancelled by Ctrl-C. */

import {
  type Agent,
  checkSubject,
  type Entry,
  FaultError,
  isModelName,
  type Live,
  type Model,
  type Principal,
  type RunResult,
  type SubjectInput,
  withChosenModel,
} from "@orgate/core";
import { type Head, headText } from "@orgate/core/journal";
import { errorMessage, NO_USAGE, readJson, usageFault } from "@orgate/core/vocab";
import { createNarrator, type Line, tokensText } from "@orgate/protocol/view";
import {
  bell,
  count,
  duration,
  EXIT,
  type Given,
  hintAsTyped,
  nextCommand,
  type RunCommand,
  type Screen,
  visible,
  visibleLines,
  visibleStream,
} from "@orgate/shell/terminal";
import { readModelSettings } from "../../../models/env.ts";
import { createModelLookup, withModel } from "../../../models/named-model.ts";
import type { Policies } from "../../../policies/policies.ts";
import { problemLine, watchPolicies } from "../../../policies/policy-record.ts";
import { assertAgentComplete } from "../../../project/agent-settings.ts";
import type { Run, RunOptions, Runtime } from "../../../runtime/api.ts";
import { type Notify, webhook } from "../../../runtime/notice-webhook.ts";
import type { Notice } from "../../../runtime/notices.ts";
import { assertMayAct } from "../../../runtime/people/approvals.ts";
import { loadProjectPorts } from "../../../runtime/ports/project-ports.ts";
import { createRuntime } from "../../../runtime/runtime.ts";
import {
  type CommandProject,
  causeText,
  certifyIfNeeded,
  findCaller,
  findSessionByText,
  loadCommandProject,
  openGivenProject,
  readGivenFiles,
  sessionAct,
  tell,
} from "../project/project.ts";

export const run: RunCommand = async (given, screen) => {
  const [name = ""] = given.args;
  const desk = await loadCommandProject(openGivenProject(given), given.env, name);
  const model = modelOf(given);
  await requireRunnable(desk, given.env, { name, model });
  const said = given.text("input");
  if (said === null) throw usageFault("--input is missing", `orgate run ${name} --input "…"; \`orgate run --help\` shows all options`);
  const input = await causeText(said, "the input", screen);
  const files = readGivenFiles(given);
  const person = findCaller(given, screen);
  assertMayAct(desk.gate, person, { kind: "run", agent: name }, `run \`${name}\``);
  const principal: Principal = { kind: "user", id: person.name };
  return withRuntime(given, screen, { project: desk, by: principal }, async (runtime) => {
    await certifyIfNeeded(given, screen, runtime.place, person);
    const wanted = given.text("session");
    const id = given.text("id");
    if (id !== null && wanted !== null) throw usageFault("--session and --id both name a session", "give one of them");
    const serves = subjectOf(given);
    if (wanted !== null && "subject" in serves)
      throw usageFault("--subject is for a new session", "whom a session serves is said when it is opened: leave --session out");
    const meant =
      id !== null
        ? await runtime.sessions.create({ agent: name, id, ...(model === null ? {} : { model }), ...serves })
        : wanted !== null
          ? ofAgent(name)(await findSessionByText(runtime.inspect, wanted))
          : null;
    if (meant?.state === "closed") throw new FaultError({ kind: "session-closed", session: meant.session });
    if (meant !== null) assertMayAct(desk.gate, person, sessionAct("say", meant), `speak in ${meant.session}`);
    const session = meant?.session ?? null;
    if (!given.json) screen.line(`${screen.paint("strong", name)} ${screen.paint("dim", "for")} ${person.name}`);
    adviseOnTrust(given, screen, desk, { name, model });
    const unwatch = given.flag("watch") ? watchPolicies(desk.gate, tellReload(given, screen)) : () => {};
    try {
      const result = await driven(given, screen, (options) =>
        runtime.run(name, input, {
          ...options,
          files,
          ...(session === null ? serves : { session }),
          ...(model === null ? {} : { model }),
        }),
      );
      return printResult(given, screen, { head: await runtime.inspect.head(), result });
    } finally {
      unwatch();
    }
  });
};

function modelOf(given: Given): string | null {
  const model = given.text("model");
  if (model === null || isModelName(model)) return model;
  throw new FaultError({
    kind: "usage",
    detail: `--model is \`${model}\``,
    hint: "name it `provider/name`; `offline/echo` needs no key, `orgate doctor` shows what is usable",
  });
}

/** An id, or `{"id": …}` with attributes. */
function subjectOf(given: Given): Readonly<{ subject?: SubjectInput }> {
  const text = given.text("subject");
  if (text === null) return {};
  if (!text.trimStart().startsWith("{")) return { subject: checkSubject({ id: text }) };
  const json = readJson(text);
  if (json.kind === "not-json")
    throw usageFault(`--subject is not JSON: ${json.detail}`, `write --subject C-7, or --subject '{"id":"C-7","tier":"gold"}'`);
  const { id, ...attributes } = json.value as Readonly<{ id: string }>;
  return { subject: checkSubject({ id, attributes }) };
}

const ofAgent =
  (name: string) =>
  <S extends { readonly agent: string; readonly session: string }>(summary: S): S => {
    if (summary.agent === name) return summary;
    throw new FaultError({
      kind: "usage",
      detail: `session \`${summary.session}\` is one of \`${summary.agent}\`, not of \`${name}\``,
      hint: `run \`${summary.agent}\`, or leave --session out`,
    });
  };

// ── the runtime of a command ──

/** `model`: in place of the agents' own. */
type CommandRuntime = Readonly<{ project: CommandProject; by: Principal; model?: (agent: Agent) => Model }>;

/** Opens the runtime of a project for one command. */
export async function withRuntime<T>(
  given: Given,
  screen: Screen,
  { project: { config, agents, gate, mcp }, by, model }: CommandRuntime,
  work: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  const { directory, powerCut, sealing, cluster } = config.journal;
  const notify = makeNotify(given, screen, config);
  const told = notify === null ? {} : { notify, project: config.name };
  const { embedding } = config.knowledge;
  const keys = { env: given.env, folder: config.root, ...(embedding === null ? {} : { embedding }) };
  const own = model === undefined ? {} : { model };
  const ports = await loadProjectPorts(config, given.env);
  const runtime = await createRuntime({
    directory,
    agents,
    gate,
    principal: by,
    surface: "cli",
    powerCut,
    sealing,
    cluster,
    ...keys,
    ...told,
    ...ports,
    ...own,
  });
  tellWarnings(given, screen, gate);
  const untold = gate.onTakenUp(tellReload(given, screen));
  try {
    return await work(runtime);
  } finally {
    untold();
    await runtime.close();
    await mcp?.hub.close();
  }
}

/** Q-26 notices are best effort: without their secret none is sent, and the output says so; a lost one is reported and has no other effect. */
export function makeNotify(given: Given, screen: Screen, { notify }: CommandProject["config"]): Notify | null {
  if (notify === null) return null;
  const secret = given.env[notify.secretEnv] ?? "";
  if (secret === "") {
    tell(given, screen, `no notice is sent to anybody: $${notify.secretEnv}, which signs them, is not set`);
    return null;
  }
  const onLost = ({ approval }: Notice, why: string): void =>
    tell(given, screen, `the notice of ${approval} was not delivered: ${visible(why)}`);
  return webhook({ url: notify.webhook, secret, onLost });
}

/** G-18 warnings of `policy check` are printed wherever the policies are used: files that are not read, words that match nothing. */
export function tellWarnings(given: Given, screen: Screen, gate: Policies): void {
  for (const warning of gate.current().warnings)
    tell(given, screen, `policies: ${problemLine(warning)}${warning.hint === "" ? "" : ` (${warning.hint})`}`);
}

/** A refusal is seen where the work is: what is in force goes on. */
export function tellReload(given: Given, screen: Screen): Parameters<typeof watchPolicies>[1] {
  return (told) => {
    switch (told.kind) {
      case "same":
        return;
      case "loaded":
        return tell(given, screen, `policies reloaded: ${told.loaded.digest.slice(0, 12)} is in force`);
      case "refused": {
        const [first] = told.problems;
        return tell(given, screen, `policies not reloaded, those before go on: ${first === undefined ? "" : problemLine(first)}`);
      }
      case "closed": {
        const [first] = told.problems;
        const why = first === undefined ? "" : `: ${problemLine(first)} (${first.hint})`;
        return tell(given, screen, `policies were applied that are not in force here, so everything is denied${why}`);
      }
      case "failed":
        return tell(given, screen, `policies not reloaded: ${errorMessage(told.error)}`);
    }
  };
}

/** One turn, or what is left of it, in front of somebody. */
export async function driven(
  given: Given,
  screen: Screen,
  start: (options: Pick<RunOptions, "signal" | "on">) => Run,
  before: AsyncIterable<Entry> | null = null,
): Promise<RunResult> {
  const shown = given.json ? null : livePrinter(screen);
  if (shown !== null && before !== null) for await (const entry of before) shown.remember(entry);
  const { signal, done } = cancelledByHand(given, screen);
  try {
    return await start({ signal, ...(shown === null ? {} : { on: shown.on }) }).result;
  } finally {
    shown?.end();
    done();
  }
}

/** A-13 the first Ctrl-C cancels the turn, which the journal keeps; the second leaves at once. */
function cancelledByHand(given: Given, screen: Screen): { readonly signal: AbortSignal; done(): void } {
  const stop = new AbortController();
  const onSignal = (): void => {
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    if (!given.json) screen.aside("cancelling; Ctrl-C again leaves at once");
    stop.abort("Ctrl-C");
  };
  process.on("SIGINT", onSignal);
  return { signal: stop.signal, done: () => void process.off("SIGINT", onSignal) };
}

export type LivePrinter = Readonly<{
  /** Reads an earlier entry, so that later ones can name their call. */
  remember(entry: Entry): void;
  on(live: Live): void;
  end(): void;
}>;

/** V-3 words are shown as they come, once; lines never break into them. What was withheld while it came is shown only when it is delivered. */
export function livePrinter(screen: Screen): LivePrinter {
  const { paint } = screen;
  const tellOf = createNarrator();
  let piece = visibleStream();
  let attempt = "";
  let spoken = "";
  let midLine = false;

  const breakLine = (): void => {
    if (midLine) screen.line();
    midLine = false;
  };
  const speak = (live: Extract<Live, { kind: "preview" }>): void => {
    if (live.preview.part !== "text") return;
    const now = `${live.iteration}.${live.attempt}`;
    if (now !== attempt) {
      breakLine();
      [attempt, spoken, piece] = [now, "", visibleStream()];
    }
    spoken += live.preview.text;
    const text = piece(live.preview.text);
    if (!midLine && text !== "") screen.write("  ");
    screen.write(text.replaceAll("\n", "\n  "));
    midLine = text !== "" || midLine;
  };
  return {
    remember: (entry) => void tellOf(entry),
    on(live) {
      if (live.kind === "preview") return speak(live);
      const { event } = live.entry;
      for (const line of tellOf(live.entry)) {
        if (!line.live) continue;
        breakLine();
        screen.line(`${event.kind === "approval.asked" ? bell(screen) : ""}${lineText(line)}`);
      }
      if (event.kind !== "turn.ended" || event.output === null || event.output === spoken) return;
      breakLine();
      for (const text of visibleLines(event.output).split("\n")) screen.line(`  ${text}`);
      spoken = event.output;
    },
    end: breakLine,
  };

  function lineText({ mark, tone, text }: Line): string {
    return `  ${paint(tone, mark)} ${tone === "bad" || tone === "warn" ? paint(tone, text) : text}`;
  }
}

/** `isDone`: printed as a success; by the turn's ending unless given. */
type PrintedResult = Readonly<{ head: Head; result: RunResult; isDone?: boolean }>;

/** Prints the result of a run, and the journal's head to keep elsewhere. */
export function printResult(given: Given, screen: Screen, printed: PrintedResult): number {
  const { head, result, isDone: done = result.ending === "completed" } = printed;
  if (given.json) {
    screen.line(JSON.stringify(result));
    return toExitCode(result);
  }
  const { paint } = screen;
  const numbers = [
    count(result.iterations, "iteration"),
    tokensText({ usage: result.usage, lost: { ...NO_USAGE, input: result.usage.lost } }),
    count(result.calls, "call"),
    ...(result.cost === null ? [] : [`cost ${money(result.cost)}`]),
    duration(result.durationMs),
  ];
  screen.line();
  screen.line(
    `${paint(done ? "good" : "warn", result.sentence)}${result.detail === null ? "" : ` ${visible(result.detail)}.`} ${paint("dim", `(${numbers.join(", ")})`)}`,
  );
  for (const { approval } of result.questions) {
    screen.line(`  yes: ${nextCommand(given, `approvals approve ${approval}`)}`);
    screen.line(`  no:  ${nextCommand(given, `approvals deny ${approval} --reason "…"`)}`);
  }
  for (const u of result.unknowns) {
    screen.line(`  ? ${visible(u.tool)} ${u.call}: nobody knows whether it took effect (${u.outcome.cause})`);
    screen.line(`    ${nextCommand(given, `sessions resolve ${result.session}/${u.call}`)} happened, did-not-happen, reconcile or abandon`);
  }
  if (!done && result.questions.length === 0)
    screen.line(
      `${paint("dim", "next:")} ${hintAsTyped(result.next.replace("`orgate sessions show`", `\`orgate sessions show ${result.session}\``), given.env)}`,
    );
  screen.line(paint("dim", `session ${result.session}`));
  screen.line(paint("dim", `journal head ${headText(head)}`));
  return toExitCode(result);
}

/** In the currency of the prices, which has no name here: two places, or as many as a small amount needs. */
const money = (cost: number): string => (cost === 0 || cost >= 0.01 ? cost.toFixed(2) : cost.toPrecision(2));

export const toExitCode = (result: RunResult): number =>
  result.state === "waiting" ? EXIT.waiting : result.ending === "completed" ? EXIT.success : EXIT.failure;

type NamedAgent = Readonly<{ name: string; model?: string | null; session?: string }>;

/** Prints what the agent asks for and runs without. With --json it is part of the result. */
export function adviseOnTrust(given: Given, screen: Screen, { agents }: CommandProject, { name, model = null }: NamedAgent): void {
  const found = agents.find((agent) => agent.name === name);
  for (const text of found === undefined ? [] : withChosenModel(found, model).warnings) tell(given, screen, text);
}

/** Throws unless the agent is there and has its skills and its model (or `model` in place of its own): before anything is said or opened. */
export async function requireRunnable(
  { agents, config }: CommandProject,
  env: Given["env"],
  { name, model = null, session }: NamedAgent,
): Promise<void> {
  const found = agents.find((agent) => agent.name === name);
  if (found === undefined)
    throw new FaultError({
      kind: "agent-missing",
      agent: name,
      known: agents.map((agent) => agent.name),
      ...(session === undefined ? {} : { session }),
    });
  assertAgentComplete(found);
  const { model: find = createModelLookup(readModelSettings(env, config.root)) } = await loadProjectPorts(config, env);
  find(withModel(withChosenModel(found, model), model ?? found.model)); // M-3
}
