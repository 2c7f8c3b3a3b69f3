/** What keeps failing and is left alone: listed, set by hand, reset. */
import { durationWords, type Millis, principalName } from "@orgate/core";
import type { BreakerState } from "@orgate/core/journal";
import type { Screen, Tone } from "@orgate/shell/terminal";
import { ageText, type Cell, EXIT, type Given, type RunCommand, table, visible } from "@orgate/shell/terminal";
import { type BreakerView, readBreakers, setBreaker, unknownBreaker } from "../../../runtime/people/breakers.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import { certified, deskOf, lookingIfAny, personOf, projectOf, tell, writingProject } from "../project/project.ts";
import { usage } from "./approvals.ts";

const TONES: Readonly<Record<BreakerState, Tone>> = { closed: "good", open: "bad", "half-open": "warn" };

export const listBreakers: RunCommand = async (given, screen) => {
  const now = NODE.clock.now();
  const all = await lookingIfAny(
    given,
    (look) => readBreakers(look.journal, now),
    () => [],
  );
  if (given.json) screen.line(JSON.stringify(all));
  else if (all.length === 0) screen.line("no breaker has ever opened");
  else for (const line of table(HEAD, all.map(rowOf(now)), screen.paint)) screen.line(line);
  return EXIT.success;
};

const HEAD = ["breaker", "state", "tried again", "since", "by", "reason"];
const rowOf =
  (now: Millis) =>
  (b: BreakerView): readonly Cell[] => [
    b.breaker,
    { text: b.state, tone: TONES[b.state] },
    b.state === "open" ? (b.until === null ? "when it is closed" : `in ${ageText(b.until - now)}`) : "-",
    ageText(now - b.at),
    principalName(b.by),
    b.reason,
  ];

const STATES: readonly BreakerState[] = ["open", "half-open", "closed"];

export const setBreakerCommand: RunCommand = (given, screen) => {
  const [breaker = "", to = ""] = given.args;
  const state = STATES.find((one) => one === to);
  if (state === undefined) throw usage(`\`${to}\` is no state of a breaker`, `use ${STATES.join(", ")}`);
  const time = given.text("for");
  const forMs = time === null ? null : durationWords(time);
  if (time !== null && forMs === null) throw usage(`\`${time}\` is no time`, "write it like 10m or 8h");
  if (forMs !== null && state !== "open") throw usage("--for is for an open breaker", "leave it out");
  return change(given, screen, breaker, state, forMs);
};

export const reset: RunCommand = (given, screen) => change(given, screen, given.args[0] ?? "", "closed", null);

async function change(given: Given, screen: Screen, breaker: string, to: BreakerState, forMs: number | null): Promise<number> {
  const reason = given.text("reason");
  if (reason === null || reason.trim() === "")
    throw usage("--reason is missing", "say why: the agents are told of it, and the journal keeps it");
  const config = projectOf(given);
  const desk = await deskOf(config, given.env);
  const listed = await lookingIfAny(
    given,
    (look) => readBreakers(look.journal, NODE.clock.now()),
    () => [],
  );
  const anyway = given.flag("anyway");
  const unknown = unknownBreaker(desk.agents, listed, breaker, "--anyway");
  if (unknown !== null && !anyway) throw unknown;
  const person = personOf(given, screen);
  await writingProject(config, async (place) => {
    await certified(given, screen, place, person);
    await setBreaker({ place, gate: desk.gate, person }, breaker, { to, forMs, reason }, NODE.clock.now());
  });
  if (given.json) screen.line(JSON.stringify({ breaker, state: to, by: person.name, reason }));
  else screen.line(`${visible(breaker)} is ${screen.paint(TONES[to], to)}${WORDS[to]}`);
  if (unknown !== null) tell(given, screen, `this project has no \`${breaker}\`: it is set all the same, should it come from elsewhere`);
  return EXIT.success;
}

const WORDS: Readonly<Record<BreakerState, string>> = {
  open: ": nothing of it is called, in any process",
  "half-open": ": a few calls may try it",
  closed: ": it may be called",
};
