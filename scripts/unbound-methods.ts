// Methods of our classes that are used as values: `finally(store.close)` calls `close` without its object, and a private field then throws.
//
// The parser knows no types. A receiver counts as an instance where the same file creates it (`new Store()`) or gives it the class as its type.
import { posix } from "node:path";
import { parseSync, Visitor } from "rolldown/utils";
import { type Finding, lineAt } from "./tree.ts";

type Source = Readonly<{ file: string; text: string }>;
type Parsed = Source & Readonly<{ program: ReturnType<typeof parseSync>["program"] }>;
/** The parts of a node that matter here; a syntax tree has many more. */
type Node = Readonly<{
  type: string;
  start: number;
  end: number;
  name?: string;
  computed?: boolean;
  static?: boolean;
  kind?: string;
  object?: Node;
  property?: Node;
  callee?: Node;
  key?: Node;
  value?: Node | null;
  init?: Node | null;
  id?: Node | null;
  body?: Node & Readonly<{ body?: readonly Node[] }>;
  typeAnnotation?: Readonly<{ typeAnnotation?: Readonly<{ typeName?: Readonly<{ name?: string }> }> }> | null;
}>;

export function findUnboundMethods(sources: readonly Source[]): readonly Finding[] {
  const all = sources.map(({ file, text }): Parsed => ({ file, text, program: parseSync(posix.basename(file), text).program }));
  const classes = new Map(all.flatMap(methodsByClass));
  return all.flatMap((source) => findingsIn(source, classes));
}

type Methods = ReadonlySet<string>;

/** Methods that use `this`, by class; a field that holds an arrow function is bound already. */
function methodsByClass({ text, program }: Parsed): readonly (readonly [string, Methods])[] {
  const found: (readonly [string, Methods])[] = [];
  const visit = (node: unknown): void => {
    const { id, body } = node as Node;
    const methods = (body?.body ?? []).filter(
      (one) =>
        one.type === "MethodDefinition" && one.kind === "method" && one.static !== true && /\bthis\b/.test(text.slice(one.start, one.end)),
    );
    const names = methods.flatMap(({ key }) => key?.name ?? []);
    if (id?.name !== undefined && names.length > 0) found.push([id.name, new Set(names)]);
  };
  new Visitor({ ClassDeclaration: visit, ClassExpression: visit }).visit(program);
  return found;
}

function findingsIn({ file, text, program }: Parsed, classes: ReadonlyMap<string, Methods>): readonly Finding[] {
  const instances = new Map<string, string>();
  const members: Node[] = [];
  const called = new Set<number>();
  const note = (name: string | undefined, node: Node | null | undefined): void => {
    const made = node?.type === "NewExpression" ? node.callee?.name : node?.typeAnnotation?.typeAnnotation?.typeName?.name;
    if (name !== undefined && made !== undefined && classes.has(made)) instances.set(name, made);
  };
  const callee = (node: unknown): void => void called.add((node as Node).callee?.end ?? -1);
  new Visitor({
    VariableDeclarator: (node) => note((node as Node).id?.name, (node as Node).init),
    Identifier: (node) => note(node.name, node as Node),
    PropertyDefinition: (node) => {
      note((node as Node).key?.name, (node as Node).value);
      note((node as Node).key?.name, node as Node);
    },
    CallExpression: callee,
    MemberExpression: (node) => void members.push(node as Node),
  }).visit(program);
  const objects = new Set(members.map(({ object }) => object?.end)); // `store.close.bind(store)`
  return members.flatMap(({ object, property, computed, start, end }) => {
    const receiver = object?.type === "MemberExpression" ? object.property?.name : object?.name;
    const made = receiver === undefined ? undefined : instances.get(receiver);
    const method = computed === true ? undefined : property?.name;
    if (made === undefined || method === undefined || called.has(end) || objects.has(end) || !classes.get(made)?.has(method)) return [];
    return [
      {
        file,
        line: lineAt(text, start),
        message: `\`${receiver}.${method}\` is a method of ${made}: call it, or pass \`(…) => ${receiver}.${method}(…)\``,
      },
    ];
  });
}
