/** What a question about a call of a tool may state beside its arguments: every name that policies could read, each with a value to be changed. */
import { isPlainKind, type JsonObject, type Tool } from "@orgate/core";

type Declaring = Pick<Tool, "targets" | "outgoing" | "records">;
const SAMPLES = { string: "x", integer: 1, number: 1.5, boolean: true, strings: ["x"], time: 1_767_225_600 } as const;
const SOMEBODY = "C-7";

/** `tools`: all of the agent, whose records the arguments refer to. */
export function exampleFacts({ targets, outgoing }: Declaring, tools: readonly Declaring[]): JsonObject {
  const rules = tools.flatMap(({ records }) => records);
  const types = new Set(Object.values(targets).flatMap(({ of }) => of ?? []));
  const records = rules
    .filter(({ type }) => types.has(type))
    .map(({ type, fields, owner }) => {
      const samples = Object.entries(fields).map(([name, field]) => [name, SAMPLES[field.type]] as const);
      return [type, { ...Object.fromEntries(samples), ...(owner === null ? {} : { owner: SOMEBODY }) }] as const;
    });
  const facts = Object.entries(targets).map(([arg, { kind }]) => [
    arg,
    kind === "number"
      ? { inRequest: true, total: { day: "100.00" } }
      : { inRequest: true, ...(isPlainKind(kind) ? {} : { known: false, seenUnder: [] }) },
  ]);
  const leaving = outgoing.flatMap((arg) => (targets[arg] === undefined ? [[arg, { links: [] }]] : []));
  const isServed = rules.some(({ establishes, owner }) => establishes !== null || owner !== null);
  return {
    ...(records.length === 0 ? {} : { records: mergeByType(records) }),
    ...(isServed ? { subject: { id: SOMEBODY } } : {}),
    ...(facts.length + leaving.length === 0 ? {} : { facts: Object.fromEntries([...facts, ...leaving]) }),
  };
}

/** Several tools may tell of things of one type. What they disagree about no policy can read. */
function mergeByType(records: readonly (readonly [string, JsonObject])[]): JsonObject {
  const all = Map.groupBy(records, ([type]) => type);
  return Object.fromEntries(
    [...all].map(([type, these]) => {
      const fields = these.flatMap(([, one]) => Object.entries(one));
      const isAgreed = ([name, value]: (typeof fields)[number]): boolean =>
        fields.every(([other, given]) => other !== name || JSON.stringify(given) === JSON.stringify(value));
      return [type, Object.fromEntries(fields.filter(isAgreed))];
    }),
  );
}
