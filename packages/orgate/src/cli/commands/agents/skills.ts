/** The skills a project brings: which can be used, by whom, and why not. */
import { type Agent, FaultError, skillName } from "@orgate/core";
import type { Tone } from "@orgate/shell/terminal";
import { type Cell, EXIT, type RunCommand, table, visible, visibleLines } from "@orgate/shell/terminal";
import { loadProject } from "../../../project/load.ts";
import { findSkillUsers, type ProjectSkill, type SkillState } from "../../../project/project-skills.ts";
import { openGivenProject } from "../project/project.ts";

type State = SkillState | "missing";
const TONES: Readonly<Record<State, Tone>> = {
  usable: "good",
  untrusted: "warn",
  changed: "bad",
  bad: "bad",
  clash: "bad",
  missing: "bad",
};

type Listed = Readonly<{
  name: string;
  place: string | null;
  state: State;
  detail: string | null;
  hint: string | null;
  description: string | null;
  digest: string | null;
  agents: readonly string[];
}>;

/** Those that are there, and those that an agent names and are not. */
function listed(skills: readonly ProjectSkill[], agents: readonly Agent[]): readonly Listed[] {
  const there = skills.map(
    ({ name, place, state, why, skill, digest }): Listed => ({
      name,
      place,
      state,
      detail: why?.detail ?? null,
      hint: why?.hint ?? null,
      description: skill?.description ?? null,
      digest,
      agents: findSkillUsers(name, agents),
    }),
  );
  const names = new Set([...there.map(({ name }) => name), ...agents.flatMap((a) => a.skills.map((s) => s.name))]);
  const wanted = agents
    .flatMap((a) => a.missing)
    .filter(({ skill }, i, all) => !names.has(skill) && all.findIndex((m) => m.skill === skill) === i);
  return [
    ...there,
    ...wanted.map(
      ({ skill, detail, hint }): Listed => ({
        name: skill,
        place: null,
        state: "missing",
        detail,
        hint,
        description: null,
        digest: null,
        agents: findSkillUsers(skill, agents),
      }),
    ),
  ];
}

export const listSkills: RunCommand = async (given, screen) => {
  const { skills, agents } = await loadProject(openGivenProject(given), { skills: "all", env: given.env });
  const all = listed(
    skills,
    agents.map(({ agent }) => agent),
  );
  if (given.json) screen.line(JSON.stringify(all));
  else if (all.length === 0) screen.line("this project brings no skill");
  else {
    const rows = all.map(({ name, state, place, agents: by, detail }): readonly Cell[] => [
      name,
      { text: state, tone: TONES[state] },
      place ?? "",
      by.join(", "),
      detail ?? "",
    ]);
    for (const line of table(["skill", "state", "where", "used by", ""], rows, screen.paint)) screen.line(line);
    for (const { hint } of all.filter((one) => one.hint !== null)) screen.line(`${screen.paint("dim", "next:")} ${visible(hint ?? "")}`);
  }
  return EXIT.success;
};

export const showSkill: RunCommand = async (given, screen) => {
  const name = skillName(given.args[0] ?? "");
  const loaded = await loadProject(openGivenProject(given), { skills: "all", env: given.env });
  const agents = loaded.agents.map(({ agent }) => agent);
  const found = loaded.skills.filter((one) => one.name === name || one.subject === name);
  if (found.length === 0) {
    const known = loaded.skills.map((one) => one.name);
    const hint = known.length === 0 ? "this project brings none" : `there is: ${known.join(", ")}`;
    throw new FaultError({ kind: "usage", detail: `there is no skill \`${name}\``, hint });
  }
  const shown = found.map((one) => ({ ...one, skill: undefined, ...textsOf(one), agents: findSkillUsers(one.name, agents) }));
  if (given.json) {
    screen.line(JSON.stringify(shown));
    return EXIT.success;
  }
  const { paint } = screen;
  const field = (label: string, text: string | null): void => {
    if (text !== null) screen.line(`${paint("dim", label.padEnd(14))}${visible(text)}`);
  };
  for (const one of shown) {
    screen.line(`${paint("strong", visible(one.name))} ${paint(TONES[one.state], one.state)}`);
    field("", one.why?.detail ?? null);
    field("next", one.why?.hint ?? null);
    field("where", one.place);
    field("digest", one.digest);
    field("used by", one.agents.join(", ") || "no agent");
    field("description", one.description);
    field("license", one.about?.license ?? null);
    field("compatibility", one.about?.compatibility ?? null);
    field("allowed-tools", one.about?.allowedTools == null ? null : `${one.about.allowedTools} (shown, not used: policies decide)`);
    for (const [key, value] of Object.entries(one.about?.metadata ?? {})) field(key, value);
    field("tools", one.tools.join(", ") || null);
    for (const { path, bytes, offered } of one.files) field("file", `${path} (${bytes} bytes${offered ? "" : "; not text, not offered"})`);
    if (one.instructions !== null) for (const line of ["", ...visibleLines(one.instructions).split("\n")]) screen.line(line);
    for (const [path, text] of Object.entries(one.texts))
      for (const line of ["", paint("dim", `── ${visible(path)}`), ...visibleLines(text.trimEnd()).split("\n")]) screen.line(line);
  }
  return EXIT.success;
};

const textsOf = ({ skill }: ProjectSkill) => ({
  description: skill?.description ?? null,
  instructions: skill?.instructions ?? null,
  tools: skill?.tools.map((tool) => tool.name) ?? [],
  /** Of its files: trust covers them, so a person who gives trust reads them too. */
  texts: skill?.files ?? {},
});
