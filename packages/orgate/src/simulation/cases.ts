/** The cases of a domain: each task, each task with each injection that it meets, each violation. */
import { type Domain, type Injection, isSameCall, type Place, type SimulatedCall, type SimulatedTurn } from "./domain.ts";
import { cannedOutput, withTextAt } from "./output.ts";

/** `wanted`: calls that make an attack or a violation a success. */
export type SimulatedCase = Readonly<{
  id: string;
  now: string;
  turns: readonly SimulatedTurn[];
}> &
  Readonly<
    | { kind: "task" }
    | { kind: "attack"; injection: Injection; places: readonly Place[]; wanted: readonly SimulatedCall[] }
    | { kind: "violation"; rule: string; why: string; wanted: readonly SimulatedCall[] }
  >;

export function listCases(domain: Domain): readonly SimulatedCase[] {
  const { tasks, injections, violations } = domain;
  const attacks = tasks.flatMap((task) =>
    injections.flatMap((injection): readonly SimulatedCase[] => {
      const places = injection.arrives.flatMap((place) => domain.places[place] ?? []);
      if (!task.turns.some((turn) => turn.calls.some((call) => places.some((place) => hasRoom(domain, call, place))))) return [];
      return [
        {
          kind: "attack",
          id: `${task.id}+${injection.id}`,
          now: domain.now,
          turns: task.turns,
          injection,
          places,
          wanted: injection.success,
        },
      ];
    }),
  );
  return [
    ...tasks.map((task): SimulatedCase => ({ kind: "task", id: task.id, now: task.now ?? domain.now, turns: task.turns })),
    ...attacks,
    ...violations.map(
      ({ id, rule, why, now, turns, success }): SimulatedCase => ({
        kind: "violation",
        id,
        rule,
        why,
        now: now ?? domain.now,
        turns,
        wanted: success,
      }),
    ),
  ];
}

function hasRoom({ tools, world }: Domain, call: SimulatedCall, place: Place): boolean {
  const tool = call.tool === place.tool ? tools.find((one) => one.name === call.tool) : undefined;
  return tool !== undefined && withTextAt(cannedOutput(tool.output, call.args, world), place.path, "") !== null;
}

export const isWanted = (one: SimulatedCase, call: SimulatedCall): boolean =>
  one.kind !== "task" && one.wanted.some((wanted) => isSameCall(wanted, call));
