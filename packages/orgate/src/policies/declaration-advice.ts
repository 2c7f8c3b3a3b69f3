/**
 * Advice about declarations: what policies decide by and tools do not declare, and what tools declare and no policy reads. A set loads without any of it:
 * an undeclared target is taken for one that nobody vouches for, so what is missing costs questions, and what is never read costs nothing but hopes.
 */
import type { Json, Tool } from "@orgate/core";
import { collectReads, isUnder, type LoadedPolicy } from "@orgate/core/gate";
import { isPlainKind, SUBJECT_TYPE, UNTRUSTED } from "@orgate/core/vocab";
import { type Declaration, suggestDeclaration } from "../tools/suggest/suggest-declaration.ts";

export type Advice = Readonly<{ kind: "undeclared" | "unread"; about: string; tools: readonly string[]; detail: string; hint: string }>;

type Topic = Readonly<{
  about: string;
  /** Fields of the context that rest on it: `targets`, `targets.owned`. */
  reads: readonly string[];
  has(tool: Tool): boolean;
  /** By its names and its schema, it should have it. */
  should(proposed: Declaration, tool: Tool): boolean;
}>;

const kinds = (of: Readonly<Record<string, { readonly kind: Tool["targets"][string]["kind"] }>>) =>
  Object.values(of).map(({ kind }) => kind);
const isReader = ({ effects }: Pick<Tool, "effects">): boolean => effects.every((effect) => effect === "read");

/** Fields that rest on records. */
const OF_THINGS = ["records", "allRecords", "targets.recorded", "targets.owned", "amount.recorded"];

const TOPICS: readonly Topic[] = [
  {
    about: "targets",
    reads: ["targets", "facts"],
    has: ({ targets }) => kinds(targets).some((kind) => !isPlainKind(kind)),
    should: ({ targets }, tool) => !isReader(tool) && kinds(targets).some((kind) => !isPlainKind(kind)),
  },
  {
    about: "values",
    reads: ["values", "facts"],
    has: ({ targets }) => kinds(targets).some(isPlainKind),
    should: ({ targets }, tool) => !isReader(tool) && kinds(targets).some(isPlainKind),
  },
  {
    about: "amount",
    reads: ["amount"],
    has: ({ targets }) => Object.values(targets).some(({ per }) => per !== undefined),
    should: ({ targets }, { effects }) => effects.includes("spend") && kinds(targets).includes("number"),
  },
  {
    about: "outgoing",
    reads: ["outgoing", "facts"],
    has: ({ outgoing }) => outgoing.length > 0,
    should: ({ outgoing }) => outgoing.length > 0,
  },
  {
    about: "records",
    reads: [...OF_THINGS, "facts"],
    has: ({ records }) => records.length > 0,
    should: ({ records }) => records.length > 0,
  },
];

export function adviseDeclarations(policies: readonly Pick<LoadedPolicy, "id" | "json">[], tools: readonly Tool[]): readonly Advice[] {
  const proposed = new Map(tools.map((tool) => [tool.name, suggestDeclaration(tool).declaration]));
  const read = policies.map((policy) => ({ policy, fields: fieldsRead(policy) }));
  const byTopic = TOPICS.flatMap((topic) => {
    const readers = read.filter(({ fields }) => topic.reads.some((field) => fields.has(field)));
    const lacking = tools.filter((tool) => {
      const own = proposed.get(tool.name);
      const concerns = topic.about === "records" || readers.some(({ policy }) => isUnder(policy.json, tool));
      return own !== undefined && concerns && !topic.has(tool) && topic.should(own, tool);
    });
    const declaring = tools.filter(topic.has);
    return [
      ...(readers.length === 0 || lacking.length === 0 ? [] : [undeclared(topic.about, readers, lacking)]),
      ...(readers.length > 0 || declaring.length === 0 ? [] : [unread(topic.about, declaring)]),
    ];
  });
  return [...byTopic, ...adviseThings(read, tools), ...adviseSubject(read, tools), ...adviseLabels(policies, tools)];
}

type Read = Readonly<{ policy: Pick<LoadedPolicy, "id" | "json">; fields: ReadonlySet<string> }>;

/** The first two steps below `context`. */
function fieldsRead({ json }: Pick<LoadedPolicy, "json">): ReadonlySet<string> {
  const { context } = collectReads([json]);
  return new Set([...context.fields].flatMap(([name, need]) => [name, ...[...need.fields.keys()].map((inner) => `${name}.${inner}`)]));
}

const namesOf = (tools: readonly Pick<Tool, "name">[]): readonly string[] => tools.map(({ name }) => name).sort();
const quoted = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(", ");
const idsOf = (readers: readonly Read[]): string =>
  quoted(readers.map(({ policy }) => policy.id).slice(0, 3)) + (readers.length > 3 ? ", …" : "");

function undeclared(about: string, readers: readonly Read[], lacking: readonly Tool[]): Advice {
  const tools = namesOf(lacking);
  const hint = `\`orgate tools suggest ${tools.length === 1 ? tools[0] : "--all"}\` proposes what to declare`;
  return { kind: "undeclared", about, tools, detail: `${idsOf(readers)} decide by ${about}, and ${quoted(tools)} declare none`, hint };
}

function unread(about: string, declaring: readonly Tool[]): Advice {
  const tools = namesOf(declaring);
  return { kind: "unread", about, tools, detail: `${quoted(tools)} declare ${about}, and no policy reads them`, hint: HINTS[about] ?? "" };
}
const HINTS: Readonly<Record<string, string>> = {
  targets: "a policy can say `context.targets.vouched`",
  values: "a policy can say `context.values.inRequest`",
  amount: 'a policy can say `context has amount && context.amount.total.day.lessThanOrEqual(decimal("100.00"))`',
  outgoing: "a policy can say `context.outgoing.vouched`",
  records: "a policy can say `context.targets.owned`, or read `context.records.TYPE`",
};

/** Records and the arguments that refer to them find each other by the kind of thing. One without the other is never read. */
function adviseThings(read: readonly Read[], tools: readonly Tool[]): readonly Advice[] {
  const readers = read.filter(({ fields }) => OF_THINGS.some((one) => fields.has(one)));
  if (readers.length === 0) return [];
  const told = new Set(tools.flatMap(({ records }) => records.map(({ type }) => type)));
  const listed = new Set(
    tools.flatMap(({ records }) => records.flatMap(({ fields }) => Object.values(fields).flatMap(({ of }) => of ?? []))),
  );
  const meant = new Set(tools.flatMap(({ targets }) => Object.values(targets).flatMap(({ of }) => of ?? [])));
  const about = "records";
  const refersTo = (type: string) => tools.filter(({ targets }) => Object.values(targets).some(({ of }) => of === type));
  const tellsOf = (type: string) => tools.filter(({ records }) => records.some((rule) => rule.type === type && rule.establishes === null));
  return [
    ...[...meant]
      .filter(
        (type) =>
          type !== SUBJECT_TYPE &&
          !told.has(type) &&
          !listed.has(type) &&
          readers.some(({ policy }) => refersTo(type).some((tool) => isUnder(policy.json, tool))),
      )
      .map((type): Advice => {
        const names = namesOf(refersTo(type));
        const detail = `${quoted(names)} act on things of kind \`${type}\`, and no tool makes records of them`;
        return {
          kind: "undeclared",
          about,
          tools: names,
          detail,
          hint: `declare \`records\` of type \`${type}\` on the trusted tool that reads them, or \`of: "${type}"\` on the field of the subject that lists theirs`,
        };
      }),
    ...[...told]
      .filter((type) => !meant.has(type) && tellsOf(type).length > 0)
      .map((type): Advice => {
        const names = namesOf(tellsOf(type));
        const detail = `${quoted(names)} make records of \`${type}\`, and no argument refers to one`;
        return {
          kind: "unread",
          about,
          tools: names,
          detail,
          hint: `an argument says \`targets: { ARGUMENT: { kind: "id", of: "${type}" } }\``,
        };
      }),
  ];
}

function adviseSubject(read: readonly Read[], tools: readonly Tool[]): readonly Advice[] {
  const readers = read.filter(({ fields }) => fields.has("subject") || fields.has("targets.owned"));
  const establishing = tools.filter(({ records }) => records.some(({ establishes }) => establishes !== null));
  const about = "subject";
  if (readers.length > 0 && establishing.length === 0)
    return [
      {
        kind: "undeclared",
        about,
        tools: [],
        detail: `${idsOf(readers)} ask whom the session serves, and no tool establishes it`,
        hint: 'callers can give it when they open a session; a tool that authenticates declares `records` with `establishes: "subject"`',
      },
    ];
  if (readers.length > 0 || establishing.length === 0) return [];
  const names = namesOf(establishing);
  const hint = "a policy can say `context has subject` and `context.targets.owned`";
  return [{ kind: "unread", about, tools: names, detail: `${quoted(names)} establish the subject, and no policy asks for it`, hint }];
}

function adviseLabels(policies: readonly Pick<LoadedPolicy, "json">[], tools: readonly Tool[]): readonly Advice[] {
  const asked = new Set(policies.flatMap(({ json }) => json.conditions.flatMap(({ body }) => labelsIn(body as Json))));
  const declared = new Set(tools.flatMap(({ labels }) => labels as readonly string[]));
  const readers = tools.filter(({ effects }) => effects.includes("read"));
  return [
    ...(readers.length === 0 ? [] : [...asked])
      .filter((label) => label !== UNTRUSTED && !declared.has(label))
      .map(
        (label): Advice => ({
          kind: "undeclared",
          about: "labels",
          tools: [],
          detail: `policies ask for the label \`${label}\`, and no tool declares it`,
          hint: "declare it where such data is read (`labels`); an agent's `privacy` and people's notes can bring it too",
        }),
      ),
    ...[...declared]
      .filter((label) => label !== UNTRUSTED && !asked.has(label))
      .map((label): Advice => {
        const names = namesOf(tools.filter(({ labels }) => (labels as readonly string[]).includes(label)));
        const hint = `a policy can say \`context.labels.contains("${label}")\``;
        return {
          kind: "unread",
          about: "labels",
          tools: names,
          detail: `${quoted(names)} declare the label \`${label}\`, and no policy asks for it`,
          hint,
        };
      }),
  ];
}

/** Texts that are compared with `context.labels` or with what a value was seen under. */
function labelsIn(expr: Json): readonly string[] {
  if (typeof expr !== "object" || expr === null) return [];
  const own = Object.entries(expr).flatMap(([op, body]) => {
    const { left, right } = (typeof body === "object" && body !== null ? body : {}) as { left?: Json; right?: Json };
    if (!op.startsWith("contains") || left === undefined || right === undefined) return [];
    return /"attr":"(?:labels|seenUnder)"/.test(JSON.stringify(left)) ? textsIn(right) : [];
  });
  return [...own, ...Object.values(expr).flatMap((inner) => labelsIn(inner as Json))];
}

const textsIn = (expr: Json): readonly string[] =>
  [...JSON.stringify(expr).matchAll(/"Value":("(?:[^"\\]|\\.)*")/g)].map(([, text = '""']) => JSON.parse(text) as string);
