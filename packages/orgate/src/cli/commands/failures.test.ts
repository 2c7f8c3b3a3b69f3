// Every command of the table fails as it should: a row is missing here as soon as a command is added.
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMMANDS } from "../commands.ts";
import { type Desk, type Ended, makeDesk } from "./fixtures/desk.ts";

/** `ran`: one session, nothing else. `gone`: the same, its journal and knowledge taken away. `broken`: agents, policies, tools, secrets and skills do not load. */
type Where = "ran" | "gone" | "broken";
/** `said`: on stderr with a hint, unless `report`: then what was found is the result, on stdout. */
type Row = Readonly<{ at: Where; words: readonly string[]; exit: 1 | 2; said: string; report?: true; alone?: true }>;

const ran = (words: string, exit: 1 | 2, said: string): Row => ({ at: "ran", words: split(words), exit, said });
const gone = (words: string, said = "cannot be read as a journal"): Row => ({ at: "gone", words: split(words), exit: 1, said });
const broken = (words: string, said: string): Row => ({ at: "broken", words: split(words), exit: 1, said });
const report = (row: Row): Row => ({ ...row, report: true });
const split = (words: string): readonly string[] => (words === "" ? [] : words.split(" "));

const NO_SESSION = "there is no session `s_none`";
const NO_QUESTION = "there is no open approval request `q_none`";
const NO_SCHEDULE = "there is no schedule `none`";
const NO_SERVER = "there is no MCP server `none`";
const NO_ITEM = "nothing is known as `k_0123456789abcdef01234567`";
const NO_CALL = "no call `s_none/1.0` is set aside";
const TOGETHER = [ran("desk desk --input x", 2, "this project has no agent `conductor`"), ran("desk --input x", 2, "")];

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  run: [ran("nobody --input x", 1, "there is no agent `nobody`"), gone("desk --input x"), broken("desk --input x", "desk.ts:1:")],
  chain: TOGETHER,
  parallel: TOGETHER,
  race: TOGETHER,
  debate: TOGETHER,
  "sessions list": [gone(""), ran("--agent nobody", 2, "no session was ever opened for an agent `nobody`")],
  "sessions show": [ran("s_none", 1, NO_SESSION), gone("s_none")],
  "sessions fork": [ran("s_none", 1, NO_SESSION), gone("s_none")],
  "sessions import": [
    ran("none.json --agent desk", 1, "none.json: there is no such file"),
    ran("empty.json --agent desk", 1, "its list of messages is empty"),
  ],
  "sessions close": [ran("s_none", 1, NO_SESSION), gone("s_none")],
  "sessions resume": [ran("s_none", 1, NO_SESSION), gone("s_none")],
  "sessions say": [ran("s_none x", 1, NO_SESSION), gone("s_none x")],
  "sessions steer": [ran("s_none x", 1, NO_SESSION), ran("SESSION x", 1, "there is no turn to steer")],
  "sessions cancel": [ran("s_none", 1, NO_SESSION), ran("SESSION", 1, "there is no turn to cancel")],
  "sessions clear": [ran("s_none", 1, NO_SESSION), gone("s_none")],
  "sessions compact": [ran("s_none", 1, NO_SESSION), gone("s_none")],
  "sessions model": [ran("SESSION offline/none", 1, "its agent has no model `offline/none`"), gone("s_none offline/desk")],
  "sessions labels": [
    ran("SESSION --remove secret --why x", 1, "the session is not labelled `secret`"),
    ran("SESSION --why x", 2, "--why is for --remove"),
  ],
  "sessions resolve": [ran("SESSION/1.0 happened", 2, "no outcome of a call `1.0` is unknown"), gone("s_none/1.0 happened")],
  "journal show": [ran("s_none", 2, "there is no stream `s_none`"), gone("")],
  "journal verify": [gone(""), ran("none.jsonl", 1, "`none.jsonl` cannot be read as a journal")],
  "journal acknowledge": [ran("--reason x", 2, "nothing was acknowledged: there is no alarm"), gone("--reason x")],
  "journal export": [ran("--session s_none", 1, NO_SESSION), ran("--out no/such/file", 1, "no/such/file: cannot be written"), gone("")],
  "journal evidence": [ran("SESSION/9.9", 2, "no call `9.9` has ended"), gone("s_none/1.0")],
  "journal erase": [ran("--session s_none --reason x", 1, NO_SESSION), ran("--session SESSION", 2, "--reason is missing")],
  "journal archive": [
    ran("--session s_none --out archive --reason x", 1, NO_SESSION),
    ran("--session SESSION", 2, "--out"),
    ran("--closed soon --out archive --reason x", 2, "soon"),
  ],
  "journal rotate-key": [gone("")],
  "journal head": [gone("")],
  "keys create": [ran("Bad", 1, "this cannot name a person")],
  "keys list": [gone("")],
  "keys withdraw": [ran("k_none --reason x", 1, "it is not certified in this project"), ran("k_none", 2, "--reason is missing")],
  "keys revoke": [ran("a_none --reason x", 2, "there is no access `a_none`"), ran("a_none", 2, "--reason is missing")],
  init: [ran("--yes", 1, "it is there already; nothing was written")],
  "agents list": [broken("", "desk.ts:1:")],
  "agents show": [ran("nobody", 1, "there is no agent `nobody`")],
  "agents validate": [ran("none.symbi", 2, "there is no file `none.symbi` of an agent"), report(broken("", "desk.ts:1:"))],
  "agents explain": [ran("nobody", 1, "there is no agent `nobody`")],
  "agents fmt": [ran("none.symbi", 2, "there is no .symbi file `none.symbi`")],
  "agents diff": [ran("none", 1, "none/orgate.toml: there is no such file")],
  "policy check": [broken("", "desk.ts:1:")],
  "policy list": [broken("", "desk.ts:1:")],
  "policy eval": [ran("--agent nobody --action model", 1, "there is no agent `nobody`")],
  "policy explain": [ran("--session s_none --call 1.0", 1, NO_SESSION)],
  "policy apply": [ran("none --reason x", 1, "there is no policy in `none`"), ran("", 2, "it takes either a folder or --set")],
  "policy history": [gone("")],
  "policy show": [ran("ffffffff", 2, "no set of policies has the digest `ffffffff`"), ran("--entry SESSION:9999", 2, "has no entry 9999")],
  "policy diff": [ran("ffffffff", 2, "no set of policies has the digest `ffffffff`")],
  simulate: [ran("none", 2, "there is no starter set `none`, and no such folder")],
  "tools list": [broken("", "desk.ts:1:")],
  "tools show": [ran("none", 2, "no manifest describes a tool `none`")],
  "tools schema": [ran("none", 2, "no manifest describes a tool `none`")],
  "tools validate": [ran("none.clad.toml", 2, "there is no file"), report(broken("", "bad.clad.toml:1"))],
  "tools test": [ran("none", 2, "no manifest describes a tool `none`")],
  "tools suggest": [ran("none", 2, "no agent has the tool `none`"), ran("", 2, "name one tool, or say --all")],
  "tools run": [ran("none", 2, "no agent has the tool `none`")],
  "tools init": [ran("a/b", 2, "`a/b` is no name of a tool")],
  "secrets set": [ran("NAME", 2, "the secrets need their passphrase")],
  "secrets list": [{ ...broken("", "the secrets need their passphrase"), exit: 2 }],
  "secrets remove": [ran("NONE", 2, "there is no secret `NONE` in the store")],
  "skills list": [broken("", "desk.ts:1:")],
  "skills show": [ran("none", 2, "there is no skill `none`")],
  "trust list": [gone("")],
  "trust add": [ran("none", 2, "there is nothing called `none` to trust"), gone("AGENTS.md")],
  "trust remove": [ran("none --reason x", 2, "there is nothing called `none` to trust")],
  "mcp list": [ran("none", 2, NO_SERVER)],
  "mcp diff": [ran("none", 2, NO_SERVER)],
  "mcp login": [ran("none", 2, NO_SERVER)],
  "mcp logout": [ran("none", 2, NO_SERVER)],
  "mcp trust": [ran("none", 2, NO_SERVER)],
  "approvals list": [gone("")],
  "approvals show": [ran("q_none", 2, NO_QUESTION)],
  "approvals approve": [ran("q_none", 2, NO_QUESTION)],
  "approvals deny": [ran("q_none --reason x", 2, NO_QUESTION), ran("q_none", 2, "--reason is missing")],
  "approvals withdraw": [ran("q_none --reason x", 2, NO_QUESTION), ran("q_none", 2, "--reason is missing")],
  "approvals edit": [ran("q_none --args {}", 2, NO_QUESTION), ran("q_none", 2, "--args is missing")],
  "approvals grants": [gone("")],
  "approvals revoke": [ran("g_none --reason x", 2, "no grant `g_none` is in force"), ran("g_none", 2, "--reason is missing")],
  "approvals watch": [gone("")],
  halt: [ran("agent nobody --reason x", 2, "nothing was halted: this project has no agent `nobody`"), ran("", 2, "--reason is missing")],
  "resume-work": [
    ran("", 2, "say why it may go on"),
    ran("agent desk --reason x", 2, "nothing was lifted: agent desk is not halted"),
    ran("all --reason x", 2, "nothing was lifted: all work is not halted"),
    ran("", 2, "--reason is missing"),
  ],
  halts: [gone("")],
  doctor: [report(gone(""))],
  "known list": [gone(""), ran("payee", 2, "did you mean `payees`?")],
  "known add": [ran("domain x.example --why x", 2, "did you mean `domains`?"), ran("people x", 2, "--why is missing")],
  "known remove": [ran("payees x --why x", 2, "`x` is not in `payees`"), ran("payees x", 2, "--why is missing")],
  "schedules list": [gone("")],
  "schedules show": [ran("none", 2, NO_SCHEDULE)],
  "schedules add": [ran("n --agent nobody --at 2090-01-01T00:00:00Z --input x", 1, "there is no agent `nobody`")],
  "schedules remove": [ran("none", 2, NO_SCHEDULE)],
  "schedules pause": [ran("none", 2, NO_SCHEDULE)],
  "schedules resume": [ran("none", 2, NO_SCHEDULE)],
  "schedules run": [ran("none", 2, NO_SCHEDULE)],
  "schedules retry": [ran("none", 2, NO_SCHEDULE)],
  "schedules history": [ran("none", 2, NO_SCHEDULE)],
  "schedules next": [ran("none", 2, NO_SCHEDULE)],
  "knowledge add": [ran("none.md", 2, "there is no `none.md`"), ran("known.md --agent nobody", 1, "there is no agent `nobody`")],
  "knowledge search": [gone("x"), ran("x --agent nobody", 1, "there is no agent `nobody`")],
  "knowledge show": [ran("k_0123456789abcdef01234567", 2, NO_ITEM), gone("k_0123456789abcdef01234567")],
  "knowledge forget": [
    ran("k_0123456789abcdef01234567 --reason x", 2, NO_ITEM),
    ran("k_0123456789abcdef01234567 --erase --reason x", 2, NO_ITEM),
    ran("k_0123456789abcdef01234567", 2, "--reason is missing"),
  ],
  "knowledge export": [gone(""), ran("no/such/file", 1, "no/such/file: cannot be written")],
  "knowledge import": [
    ran("none.jsonl", 1, "none.jsonl: there is no such file"),
    ran("empty.jsonl", 1, "empty.jsonl: there is no item in it"),
  ],
  "knowledge embed": [ran("", 2, "the project names no embedding model")],
  "knowledge stats": [gone("")],
  "breakers list": [gone("")],
  "breakers set": [ran("tool:none open --reason x", 2, "nothing was set: this project has no tool `none`")],
  "breakers reset": [ran("tool:lok --reason x", 2, "did you mean `tool:look`?"), ran("tool:look", 2, "--reason is missing")],
  "dead-letters list": [gone("")],
  "dead-letters show": [ran("s_none/1.0", 2, NO_CALL)],
  "dead-letters dismiss": [ran("s_none/1.0", 2, NO_CALL)],
  worker: [gone(""), broken("", "desk.ts:1:")],
  migrate: [
    ran("", 2, "--to is no address"),
    ran("--to files", 2, "the journal is in files already"),
    gone("--to postgres://u@127.0.0.1:1/x"),
  ],
  up: [ran("--check --port bogus", 2, "--port is `bogus`"), gone("--port 0")],
  dev: [{ ...ran("--port bogus", 2, "--port is `bogus`"), alone: true }],
  call: [
    ran("agentStaus", 2, "did you mean `agentStatus`?"),
    ran("schedule --arg schedule=none", 2, "there is no schedule `none`"),
    ran("unknowns --arg limit=none", 2, "limit"),
    ran("followAll", 2, "`followAll` is for connections to a server"),
    gone("unknowns"),
    broken("unknowns", "desk.ts:1:"),
  ],
  shell: [ran("--plain --attach http://127.0.0.1:9", 2, "$ORGATE_API_KEY is not set")],
  demo: [ran("extra", 2, "`extra` is one argument too many")],
  completion: [ran("tcsh", 2, "SHELL is `tcsh`")],
};

/** These work wherever they are called. */
const ANYWHERE: ReadonlySet<string> = new Set(["init", "doctor", "demo", "completion", "shell"]);

describe("every command fails as it should", () => {
  const desks = new Map<Where, Desk>();
  let session = "";
  let outside = "";

  beforeAll(async () => {
    for (const at of ["ran", "gone"] as const) {
      const desk = makeDesk();
      desks.set(at, desk);
      desk.write("AGENTS.md", "be brief\n");
      desk.write("empty.json", "[]");
      desk.write("empty.jsonl", "");
      desk.write("known.md", "# known\n\nthe door is blue\n");
      session = ((await desk.json("run", "desk", "--input", "hello")) as { session: string }).session;
      await desk.json("knowledge", "add", "known.md");
      if (at === "ran") {
        outside = join(desk.root, "..", "outside");
        mkdirSync(outside);
        rmSync(join(desk.root, "AGENTS.md")); // nothing to trust
        session = ((await desk.json("sessions", "list")) as { session: string }[])[0]?.session ?? "";
      } else
        for (const name of readdirSync(join(desk.root, ".orgate")).filter((one) => /^(?:journal|knowledge)\.db/.test(one)))
          rmSync(join(desk.root, ".orgate", name));
    }
    const desk = makeDesk();
    desks.set("broken", desk);
    desk.write("agents/desk.ts", "export const x = {;\n");
    desk.write("tools/bad.clad.toml", "[tool\n");
    desk.write(".orgate/secrets.json", "no secrets");
    const sessions = (await desks.get("ran")?.json("sessions", "list")) as readonly { session: string }[] | undefined;
    session = sessions?.[0]?.session ?? "";
  }, 120_000);
  afterAll(() => {
    for (const desk of desks.values()) desk.remove();
  });

  const deskAt = (at: Where): Desk => desks.get(at) ?? makeDesk();
  const told = ({ stderr }: Ended): readonly string[] => [
    ...(stderr.split("\n").filter((line) => line.startsWith("error: ")).length === 1 ? [] : ["not one error"]),
    ...(/^hint: \S/m.test(stderr) ? [] : ["no next step"]),
    ...(/unexpected: |\n\s+at |node:internal/.test(stderr) ? ["told as a defect"] : []),
  ];

  test("A-7 every command has a row here: adding one without its failure fails", () => {
    expect(Object.keys(ROWS).sort()).toEqual(COMMANDS.map(({ name }) => name).sort());
    for (const rows of Object.values(ROWS)) expect(rows.length).toBeGreaterThan(0);
  });

  test.each(COMMANDS.map(({ name }) => name))(
    "A-7 A-9 A-12 `%s` that cannot do its work exits with its code, says what and why, and what to do next",
    { timeout: 60_000 },
    async (name) => {
      for (const { at, words, exit, said, ...row } of ROWS[name] ?? []) {
        const args = [...name.split(" "), ...words.map((word) => word.replace("SESSION", session))];
        const found = row.alone === true ? await deskAt(at).start(args).ended : await deskAt(at).orgate(...args);
        expect([args, found.code, row.report === true ? found.stdout : found.stderr]).toEqual([args, exit, expect.stringContaining(said)]);
        expect([args, ...(row.report === true ? [] : told(found))]).toEqual([args]);
      }
    },
  );

  test('A-9 an empty argument or option is refused by every command: a variable that is not set is not "here", "all" or "none"', async () => {
    const desk = deskAt("ran");
    for (const { name, args, options } of COMMANDS) {
      const words = name.split(" ");
      if (args.some(({ required }) => required)) {
        const found = await desk.orgate(...words, ...args.map(() => ""));
        expect([name, found.code, found.stderr]).toEqual([name, 2, expect.stringContaining(`${args[0]?.name} is empty`)]);
      }
      const [option] = Object.entries(options).find(([, one]) => one.type === "string") ?? [];
      const given = args.map(({ choices }) => choices?.[0] ?? "x");
      if (option === undefined) continue;
      const found = await desk.orgate(...words, ...given, `--${option}=`);
      expect([name, found.code, found.stderr]).toEqual([name, 2, expect.stringContaining(`--${option} is empty`)]);
    }
  });

  test("A-7 outside a project every command that needs one says so, with the next step", { timeout: 60_000 }, async () => {
    for (const { name } of COMMANDS.filter((one) => !ANYWHERE.has(one.name))) {
      const [row] = ROWS[name] ?? [];
      const found = await deskAt("ran").from(outside, [...name.split(" "), ...(row?.words ?? [])]);
      expect([name, found.code === 0, ...told(found)]).toEqual([name, false]);
    }
  });
});

test("A-7 trust that was not given is not taken back, and a server that cannot be reached leaves no trust behind unsaid", {
  timeout: 60_000,
}, async () => {
  const desk = makeDesk();
  try {
    desk.write("AGENTS.md", "be brief\n");
    desk.write(".mcp.json", JSON.stringify({ mcpServers: { broken: { command: "false" } } }));
    const removed = await desk.orgate("trust", "remove", "AGENTS.md");
    expect([removed.code, removed.stderr]).toEqual([2, expect.stringContaining("nothing was taken back: `AGENTS.md` is not trusted")]);
    const unreachable = await desk.orgate("mcp", "trust", "broken");
    expect([unreachable.code, unreachable.stderr]).toEqual([
      1,
      expect.stringContaining("`orgate trust remove mcp:broken` takes that back"),
    ]);
    expect((await desk.orgate("trust", "remove", "mcp:broken")).code).toBe(0);
  } finally {
    desk.remove();
  }
});
