// Measures of the tree that `check-house.ts` holds down: sizes, folders, names, cycles, directions, parameters, writers of the loop's state.
import { posix } from "node:path";
import { type ParseResult, parseSync, Visitor } from "rolldown/utils";
import { isSource, isTest, lineAt } from "./tree.ts";

/** One thing that is too large or stands in the wrong place. `size` is what may only shrink; `key` names it without line numbers, which drift. */
export type Offence = Readonly<{ key: string; size: number; file: string; line: number; message: string }>;
export type Measure = "functions" | "files" | "folders" | "names" | "cycles" | "directions" | "parameters" | "writers";
export type Source = Readonly<{ file: string; text: string }>;

export const LIMITS = { functionLines: 80, fileLines: 400, folderFiles: 20, parameters: 4 } as const;

/** A comment with these words inside a function or at the head of a file says why it may be longer: it holds one switch, or one table. */
const PLAIN_SWITCH = /plain switch/;
const PLAIN_TABLE = /plain table/;

type Node = Readonly<{ start: number; end: number }>;
type Parsed = Source & Readonly<{ tree: ParseResult; lines: number }>;

/** Code that ships, and the programs around it. Tests, fixtures, generated files and the testing kit may be as long as they need. */
export const isMeasured = ({ file, text }: Source): boolean =>
  isSource(file) &&
  !isTest(file) &&
  !/\.d\.ts$|\/testing\//.test(file) &&
  /^(?:packages\/[^/]+\/src|scripts|e2e|bench)\//.test(file) &&
  !/^\/\/ .*: generated$/m.test(text.slice(0, 400));

const linesIn = (text: string, { start, end }: Node): number => text.slice(start, end).split("\n").length;

function parsed({ file, text }: Source): Parsed {
  const tree = parseSync(posix.basename(file), text);
  const [error] = tree.errors;
  if (error !== undefined) throw new Error(`${file}: ${error.message}`);
  return { file, text, tree, lines: text.replace(/\n$/, "").split("\n").length };
}

export function measureHouse(sources: readonly Source[]): Readonly<Record<Measure, readonly Offence[]>> {
  const all = sources.map(parsed);
  const shapes = all.map(shapeOf);
  return {
    functions: shapes.flatMap(({ functions }) => functions),
    files: all.flatMap(fileOffence),
    folders: folderOffences(all),
    names: nameOffences(all),
    cycles: cycleOffences(all),
    directions: directionOffences(all),
    parameters: shapes.flatMap(({ parameters }) => parameters),
    writers: shapes.flatMap(({ writers }) => writers),
  };
}

// Sizes, parameters and writers: one visit of each file

type Shape = Readonly<{ functions: readonly Offence[]; parameters: readonly Offence[]; writers: readonly Offence[] }>;
type Fn = Node & Readonly<{ params: readonly unknown[]; body?: Node | null }>;
type Named = Readonly<{
  type: string;
  name?: string;
  object?: Named;
  typeAnnotation?: { typeAnnotation: { typeName?: { name?: string } } } | null;
}>;

/** The types of the loop's state, and the files that fold events into it. */
const STATE_TYPES: ReadonlySet<string> = new Set(["State", "Turn"]);
const FOLD = /^packages\/core\/src\/loop\/(?:.+\/)?(?:evolve(?:-.+)?|state)\.ts$/;

function shapeOf({ file, text, tree }: Parsed): Shape {
  const [functions, parameters]: [Offence[], Offence[]] = [[], []];
  const [states, writes]: [Set<string>, number[]] = [new Set(), []];
  const names = new Map<number, string>(); // of functions that are values: what they are assigned to
  const visitFunction = (node: Fn, own: string | null): void => {
    const name = own ?? names.get(node.start) ?? "a function";
    const [lines, line] = [linesIn(text, node), lineAt(text, node.start)];
    const key = `${file} ${name}`;
    if (lines > LIMITS.functionLines && !isPlainSwitch(node, { text, tree }))
      functions.push({ key, size: lines, file, line, message: `\`${name}\` has ${lines} lines; at most ${LIMITS.functionLines}` });
    if (node.params.length > LIMITS.parameters)
      parameters.push({
        key,
        size: node.params.length,
        file,
        line,
        message: `\`${name}\` takes ${node.params.length} parameters; at most ${LIMITS.parameters}`,
      });
    for (const one of node.params as readonly Named[]) noteState(one);
  };
  const noteState = (one: Named): void => {
    const type = one.typeAnnotation?.typeAnnotation.typeName?.name;
    if (one.type === "Identifier" && one.name !== undefined && type !== undefined && STATE_TYPES.has(type)) states.add(one.name);
  };
  const noteWrite = (target: Named, at: number): void => {
    if (target.type !== "MemberExpression") return;
    let root: Named = target;
    while (root.type === "MemberExpression" && root.object !== undefined) root = root.object;
    if (root.name !== undefined && states.has(root.name)) writes.push(lineAt(text, at));
  };
  new Visitor({
    FunctionDeclaration: (node) => visitFunction(node, node.id?.name ?? null),
    FunctionExpression: (node) => visitFunction(node, node.id?.name ?? null),
    ArrowFunctionExpression: (node) => visitFunction(node, null),
    VariableDeclarator: (node) => {
      if (node.init !== null && node.id.type === "Identifier") names.set(node.init.start, node.id.name);
      noteState(node.id as Named);
    },
    Property: (node) => void (node.key.type === "Identifier" && names.set(node.value.start, node.key.name)),
    MethodDefinition: (node) => void (node.key.type === "Identifier" && names.set(node.value.start, node.key.name)),
    AssignmentExpression: (node) => noteWrite(node.left as Named, node.start),
    UpdateExpression: (node) => noteWrite(node.argument as Named, node.start),
    UnaryExpression: (node) => void (node.operator === "delete" && noteWrite(node.argument as Named, node.start)),
  }).visit(tree.program);
  const writers: Offence[] =
    writes.length === 0 || !file.startsWith("packages/core/src/loop/") || FOLD.test(file)
      ? []
      : [
          {
            key: file,
            size: writes.length,
            file,
            line: writes[0] ?? 1,
            message: `${writes.length} assignments to the loop's state outside the fold`,
          },
        ];
  return { functions, parameters, writers };
}

/** One switch and little else, in a function that says so. */
function isPlainSwitch(node: Fn, { text, tree }: Pick<Parsed, "text" | "tree">): boolean {
  const says = tree.comments.some(({ start, end, value }) => start >= node.start && end <= node.end && PLAIN_SWITCH.test(value));
  if (!says) return false;
  let longest = 0;
  new Visitor({
    SwitchStatement: (one) => {
      if (one.start >= node.start && one.end <= node.end) longest = Math.max(longest, linesIn(text, one));
    },
  }).visit(tree.program);
  return longest >= 0.8 * linesIn(text, node);
}

function fileOffence({ file, lines, tree }: Parsed): readonly Offence[] {
  const isTable = tree.comments.some(({ value }) => PLAIN_TABLE.test(value));
  if (lines <= LIMITS.fileLines || isTable) return [];
  return [{ key: file, size: lines, file, line: 1, message: `the file has ${lines} lines; at most ${LIMITS.fileLines}` }];
}

function folderOffences(all: readonly Parsed[]): readonly Offence[] {
  const counts = Map.groupBy(all, ({ file }) => posix.dirname(file));
  return [...counts].flatMap(([folder, { length: size }]) =>
    size <= LIMITS.folderFiles
      ? []
      : [{ key: folder, size, file: folder, line: 1, message: `${size} source files in one folder; at most ${LIMITS.folderFiles}` }],
  );
}

// Names

/** A name that several files of a package export, each with a declaration of its own. Passing a name on is no second meaning. */
function nameOffences(all: readonly Parsed[]): readonly Offence[] {
  const meanings = new Map<string, Set<string>>();
  for (const { file, tree } of all) {
    const home = packageFolder(file);
    if (home === null) continue;
    const imported = new Set(tree.module.staticImports.flatMap(({ entries }) => entries.map(({ localName }) => localName.value)));
    for (const { entries } of tree.module.staticExports)
      for (const { moduleRequest, exportName, localName } of entries) {
        const name = exportName.name;
        if (moduleRequest !== null || name === null || name === undefined || imported.has(localName.name ?? "")) continue;
        const key = `${home} ${name}`;
        meanings.set(key, (meanings.get(key) ?? new Set()).add(file));
      }
  }
  return [...meanings].flatMap(([key, files]) => {
    const [file = "", ...others] = [...files].sort();
    if (others.length === 0) return [];
    const message = `\`${key.split(" ")[1]}\` is exported with a meaning of its own also by ${others.join(", ")}`;
    return [{ key, size: files.size, file, line: 1, message }];
  });
}

const packageFolder = (file: string): string | null => /^packages\/[^/]+/.exec(file)?.[0] ?? null;

// Imports

type Graph = ReadonlyMap<string, readonly string[]>;

/** Imports between measured files. Types count: a reader follows them too. */
function graphOf(all: readonly Parsed[]): Graph {
  const known = new Set(all.map(({ file }) => file));
  return new Map(
    all.map(({ file, tree: { module } }) => {
      const requests = [
        ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
        ...module.staticExports.flatMap(({ entries }) => entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? [])),
      ];
      const targets = requests
        .filter((one) => one.startsWith("."))
        .map((one) => posix.normalize(posix.join(posix.dirname(file), one)))
        .filter((one) => known.has(one) && one !== file);
      return [file, [...new Set(targets)]] as const;
    }),
  );
}

function cycleOffences(all: readonly Parsed[]): readonly Offence[] {
  return knotsOf(graphOf(all)).flatMap((knot) => {
    const [file = ""] = knot;
    return knot.map((member) => ({
      key: member,
      size: knot.length,
      file: member,
      line: 1,
      message: `it is one of ${knot.length} files that import each other in a circle, \`${file}\` among them`,
    }));
  });
}

/** Tarjan's strongly connected components with more than one member, each sorted. */
export function knotsOf(graph: Graph): readonly (readonly string[])[] {
  const [index, low, open]: [Map<string, number>, Map<string, number>, Set<string>] = [new Map(), new Map(), new Set()];
  const [stack, knots]: [string[], string[][]] = [[], []];
  const visit = (file: string): number => {
    const own = index.size;
    index.set(file, own);
    stack.push(file);
    open.add(file);
    let least = own;
    for (const next of graph.get(file) ?? [])
      if (!index.has(next)) least = Math.min(least, visit(next));
      else if (open.has(next)) least = Math.min(least, low.get(next) ?? index.get(next) ?? own);
    low.set(file, least);
    if (least === own) {
      const knot = stack.splice(stack.indexOf(file));
      for (const member of knot) open.delete(member);
      if (knot.length > 1) knots.push(knot.sort());
    }
    return least;
  };
  for (const file of graph.keys()) if (!index.has(file)) visit(file);
  return knots;
}

/** Rooms of a package from the ground up: a room imports itself and what stands before it. Rooms in one line are neighbours, and do not import each other. */
const STOREYS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "packages/orgate": [
    ["node"],
    ["files"],
    ["config"],
    ["guard"],
    ["store"],
    ["identity"],
    ["models", "tools", "mcp", "knowledge"],
    ["policies"],
    ["coordinator"],
    ["project", "starter"],
    ["runtime"],
    ["schedules"],
    ["authoring"],
    ["simulation"],
    ["operations"],
    ["server"],
    ["cli"],
    ["local-server"],
    ["demo"],
    ["."],
  ],
  "packages/protocol": [["view", "wire"]],
  "packages/toolclad": [["contract"], ["running"], ["tool"], ["."]],
  "packages/console": [["assets"], ["state"], ["routing"], ["link"], ["parts"], ["screens"], ["app"], ["."]],
};

/** Imports against the direction, told by pairs of rooms. */
function directionOffences(all: readonly Parsed[]): readonly Offence[] {
  const pairs = new Map<string, Offence>();
  for (const [file, targets] of graphOf(all)) {
    const home = packageFolder(file);
    const storeys = home === null ? undefined : STOREYS[home];
    if (home === null || storeys === undefined) continue;
    const level = (room: string): number => storeys.findIndex((rooms) => rooms.includes(room));
    for (const target of targets) {
      const [from, to] = [roomIn(home, file), roomIn(home, target)];
      if (from === to || level(to) < level(from)) continue;
      const key = `${home} ${from} → ${to}`;
      const size = (pairs.get(key)?.size ?? 0) + 1;
      const first = pairs.get(key);
      pairs.set(key, {
        key,
        size,
        file: first?.file ?? file,
        line: 1,
        message: `room \`${from}\` may not import \`${to}\`: ${size} imports do`,
      });
    }
  }
  return [...pairs.values()];
}

function roomIn(home: string, file: string): string {
  const [room = ".", ...rest] = file.slice(`${home}/src/`.length).split("/");
  return rest.length === 0 ? "." : room;
}
