import { OPERATION_NAMES, OPERATIONS, type Operation, openApi } from "@orgate/protocol";
import { type CliWords, OPERATION_WORDS } from "@orgate/protocol/words";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { COMMANDS } from "../commands.ts";
import { BY_HAND } from "./fixtures/by-hand.ts";

const named = (name: string) => COMMANDS.find((command) => command.name === name);
const fieldsOf = ({ params, query, body }: Operation): readonly string[] =>
  [params, query, body].flatMap((schema) =>
    schema instanceof z.ZodUndefined ? [] : Object.keys(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }).properties ?? {}),
  );

const DERIVED = OPERATION_NAMES.flatMap((name) => {
  const { cli, alsoCli = [] } = OPERATION_WORDS[name];
  return cli === undefined ? [] : [cli.command, ...alsoCli.map(({ command }) => command)];
});

/** The message for an operation whose `cli` words no row of a table turns into a command. */
const rowFor = (name: string, command: string): string =>
  `${name}: the list for \`${command}\` in cli/table/ needs \`operationCommand("${name}", async () => (await views()).VIEW)\`, and VIEW is written in cli/commands/`;

test("every command is an operation's, or says why it is written by hand (`fixtures/by-hand.ts`)", () => {
  const problems = [
    ...OPERATION_NAMES.flatMap((name) => {
      const { cli, alsoCli = [] } = OPERATION_WORDS[name];
      return (cli === undefined ? [] : [cli, ...alsoCli]).flatMap(({ command }) =>
        named(command) === undefined ? [rowFor(name, command)] : [],
      );
    }),
    ...COMMANDS.flatMap(({ name }) =>
      DERIVED.includes(name) || Object.hasOwn(BY_HAND, name)
        ? []
        : [`\`${name}\`: an operation needs \`cli\` words for it, or cli/operations/fixtures/by-hand.ts needs a line with the reason`],
    ),
    ...Object.keys(BY_HAND).flatMap((name) =>
      named(name) === undefined ? [`\`${name}\`: cli/operations/fixtures/by-hand.ts has a line for a command that does not exist`] : [],
    ),
  ];
  expect(problems).toEqual([]);
  expect([...DERIVED, ...Object.keys(BY_HAND)].sort()).toEqual(COMMANDS.map(({ name }) => name).sort());
});

test("only operations take an idempotency key: it means the same for every command", () => {
  const keyed = COMMANDS.filter(({ options }) => options.key?.help.startsWith("an idempotency key")).map(({ name }) => name);
  const changing = OPERATION_NAMES.flatMap((name) => {
    const { cli, alsoCli = [], idempotencyKey } = OPERATION_WORDS[name];
    return cli === undefined || !idempotencyKey ? [] : [cli.command, ...alsoCli.map(({ command }) => command)];
  });
  expect(keyed.sort()).toEqual([...changing, "call"].sort());
});

describe.each(OPERATION_NAMES.map((name) => [name] as const))("%s", (name) => {
  const {
    method,
    path,
    summary,
    act,
    idempotencyKey,
    cli,
    alsoCli = [],
    inCommand,
    onlyConnected,
    slash = [],
    tool,
  } = OPERATION_WORDS[name];
  const commands: readonly CliWords[] = cli === undefined ? [] : [cli, ...alsoCli];

  test("has a route, and the API's description has it", () => {
    const { paths } = openApi("0.0.0") as { readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
    expect(paths[path]?.[method.toLowerCase()]).toMatchObject({ operationId: name });
  });

  test("has a command, or is called by name, or says why only a connection can use it", () => {
    if (onlyConnected !== undefined) expect([cli, inCommand]).toEqual([undefined, undefined]);
    if (inCommand !== undefined) expect(BY_HAND[inCommand], inCommand).toBeDefined();
    expect(named("call")).toBeDefined();
  });

  test("its commands say what it does, fill its fields and no others, and name the act that is decided", () => {
    for (const words of commands) {
      const command = named(words.command);
      expect(command, rowFor(name, words.command)).toBeDefined();
      expect(`${command?.summary}.`).toBe(words.summary ?? summary);
      const filled = [
        ...(words.args ?? []).map(({ value, field = value }) => field),
        ...Object.entries(words.options ?? {}).map(([option, { field = option }]) => field),
        ...Object.keys(words.fixed ?? {}),
      ];
      expect(fieldsOf(OPERATIONS[name])).toEqual(expect.arrayContaining(filled));
      for (const [, parameter = ""] of path.matchAll(/\{(\w+)\}/g)) expect(filled).toContain(parameter);
      expect(Object.keys(command?.options ?? {})).toEqual([...Object.keys(words.options ?? {}), ...(idempotencyKey ? ["key"] : []), "as"]);
      const decided = typeof act === "string" || !idempotencyKey ? null : `Action::"${act.kind}"`;
      if (decided !== null) expect(command?.notes.at(-1)).toContain(decided);
    }
  });

  test("its slash commands and its tool fill its fields and no others", () => {
    const typed = slash.map(({ args = [], fixed = {} }) => [
      ...args.flatMap(({ value, field = value, as }) => (as === "call" ? ["session", "call"] : [field])),
      ...Object.keys(fixed),
    ]);
    const given = Object.entries(tool?.fields ?? {}).map(([own, { field = own }]) => field);
    const all = [...typed, ...(tool === undefined ? [] : [[...given, ...Object.keys(tool.fixed ?? {})]])];
    for (const filled of all) {
      expect(fieldsOf(OPERATIONS[name])).toEqual(expect.arrayContaining(filled));
      for (const [, parameter = ""] of path.matchAll(/\{(\w+)\}/g)) expect(filled).toContain(parameter);
    }
    if (tool?.resource !== undefined) expect(Object.keys(tool.fields ?? {})).toContain(tool.resource.field);
  });
});
