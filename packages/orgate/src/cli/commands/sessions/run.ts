import { FaultError, isModelName, type Principal } from "@orgate/core";
import type { Given, RunCommand } from "@orgate/shell/terminal";
import { watchPolicies } from "../../../policies/policy-record.ts";
import { assertMayAct } from "../../../runtime/people/approvals.ts";
import { COMMANDS } from "../../commands.ts";
import { usageLine } from "../../parse.ts";
import { causeText, certified, deskOf, filesOf, personOf, projectOf, sessionAct, sessionOf } from "../project/project.ts";
import { adviseOnTrust, driven, printResult, requireRunnable, tellReload, withRuntime } from "./driving.ts";

export const run: RunCommand = async (given, screen) => {
  const [name = ""] = given.args;
  const desk = await deskOf(projectOf(given), given.env, name);
  const model = modelOf(given);
  await requireRunnable(desk, given.env, { name, model });
  const said = given.text("input");
  if (said === null) throw new FaultError({ kind: "usage", detail: "--input is missing", hint: usageOf("run") });
  const input = await causeText(said, "the input", screen);
  const files = filesOf(given);
  const person = personOf(given, screen);
  assertMayAct(desk.gate, person, { kind: "run", agent: name }, `run \`${name}\``);
  const principal: Principal = { kind: "user", id: person.name };
  return withRuntime(given, screen, { project: desk, by: principal }, async (runtime) => {
    await certified(given, screen, runtime.place, person);
    const wanted = given.text("session");
    const id = given.text("id");
    if (id !== null && wanted !== null)
      throw new FaultError({ kind: "usage", detail: "--session and --id both name a session", hint: "give one of them" });
    const meant =
      id !== null
        ? await runtime.sessions.create({ agent: name, id, ...(model === null ? {} : { model }) })
        : wanted !== null
          ? ofAgent(name)(await sessionOf(runtime.inspect, wanted))
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
          ...(session === null ? {} : { session }),
          ...(model === null ? {} : { model }),
        }),
      );
      return printResult(given, screen, { head: runtime.inspect.head(), result });
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

const usageOf = (name: string): string => {
  const command = COMMANDS.find((c) => c.name === name);
  return command === undefined ? "" : `usage: ${usageLine(command)}`;
};
