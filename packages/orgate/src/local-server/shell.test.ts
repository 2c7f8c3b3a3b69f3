import { PassThrough, Readable } from "node:stream";
import type { Shell, TerminalEvents } from "@orgate/shell";
import { connectTo, openPlainUi, openShell, openTerminalUi, resumeNamed, type ServerConnection } from "@orgate/shell";
import { plain } from "@orgate/shell/terminal";
import { keyReader, NO_HISTORY, QUIET_MS, queuedTexts } from "@orgate/shell/testing";
import { afterEach, expect, test } from "vitest";
import { type Guarded, openGuarded } from "../server/fixtures/guarded.ts";
import { latch } from "../server/fixtures/stand.ts";
import { withOwnKey } from "./local-server.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
async function served(options: Parameters<typeof openGuarded>[0] = {}): Promise<Readonly<{ at: Guarded; reach: ServerConnection }>> {
  const at = await openGuarded({ names: ["clerk", "other"], ...options });
  closing.push(() => at.stop());
  const token = await at.give();
  return {
    at,
    reach: { ...connectTo(at.at.url, token), name: "test", isLocal: false, lost: null, runCommand: null, close: async () => {} },
  };
}

/** A terminal that remembers what was written, and a person at it. */
function person() {
  const reader = keyReader();
  let events: TerminalEvents | null = null;
  let [now, text] = [0, ""];
  const waiting = new Set<() => void>();
  const terminal = openTerminalUi({
    open: (given) => {
      events = given;
      return {
        columns: () => 80,
        rows: () => 24,
        write: (more) => {
          text += more;
          for (const look of [...waiting]) look();
        },
        suspend: () => {},
        close: () => {},
      };
    },
    paint: plain,
    theme: "plain",
    cwd: ".",
    history: NO_HISTORY,
    now: () => now,
    soon: (run) => setImmediate(run),
    wait: () => {},
  });
  return {
    terminal,
    type: (keys: string) => events?.keys([...reader.read(keys), ...reader.settle()]),
    later: (ms: number) => {
      now += ms;
    },
    text: () => text,
    /** Since the last look. */
    sees: (words: string) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (!text.includes(words)) return;
          waiting.delete(look);
          text = text.slice(text.indexOf(words) + words.length);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}
async function begun(reach: ServerConnection): Promise<ReturnType<typeof person> & { shell: Shell }> {
  const one = person();
  const shell = await openShell(reach, one.terminal.ui, async () => {});
  closing.push(() => shell.close());
  one.terminal.begin(shell);
  return { ...one, shell };
}

test("the prompt is there before anything else, and what was sent meanwhile is sent once there is somebody", async () => {
  const one = person();
  await one.sees("› ");
  one.type("@clerk good morning\r");
  const { reach } = await served();
  const shell = await openShell(reach, one.terminal.ui, async () => {});
  closing.push(() => shell.close());
  one.terminal.begin(shell);
  await one.sees("You said: good morning");
});

test("what was said of a line that is kept goes when it is sent, and nobody is called away who is only starting", async () => {
  const one = person();
  one.type("@clerk good morning\r");
  await one.sees("it is sent as soon as everything is loaded");
  const { reach } = await served();
  const shell = await openShell(reach, one.terminal.ui, async () => {});
  closing.push(() => shell.close());
  one.terminal.begin(shell);
  const seen: string[] = [];
  const stop = setInterval(() => seen.push(one.text()), 1).unref();
  await one.sees("You said: good morning");
  clearInterval(stop);
  await one.sees("iteration");
  expect([...seen, one.text()].join("")).not.toMatch(/as soon as|is away/);
});

test("schedules complete by name, also one that was made a moment ago", async () => {
  const { reach } = await served();
  const { type, sees, shell } = await begun(reach);
  type('/cron add daily clerk "0 8 * * *" look\r');
  await sees("daily is active");
  while (shell.choices().argumentOffers("cron", 1)?.length === 0) await new Promise((done) => setImmediate(done));
  expect(shell.choices().argumentOffers("cron", 1)).toEqual([{ word: "daily", about: "clerk, active" }]);
});

test("while the lines before are searched nothing is offered: Esc, Enter and Tab are the search's", async () => {
  const { reach } = await served();
  const { type, sees, text } = await begun(reach);
  type("/help\r");
  await sees("twice leaves");
  type("\u0012hel");
  await sees("search `hel`: /help");
  expect(text()).not.toContain("▸");
  type("\r");
  await sees("twice leaves");
});

test("S-3 a session that is named to go on in is that one or none", async () => {
  const { reach } = await served();
  const { type, sees, shell } = await begun(reach);
  shell.address("clerk");
  type("one\r");
  await sees("You said: one");
  type("/snapshot here\r");
  await sees("here is");
  await expect(resumeNamed(shell, "nowhere")).rejects.toMatchObject({ fault: { kind: "session-unknown", session: "nowhere" } });
  await expect(resumeNamed(shell, "s_0000000000")).rejects.toMatchObject({ fault: { kind: "session-unknown" } });
  await resumeNamed(shell, "here");
  expect(shell.current()?.session).not.toBe(shell.conversations.all()[0]?.session);
});

test("Q-15 W-18 a halt of what nobody knows is refused with the nearest name, unless it is meant; none goes without a reason", async () => {
  const { reach } = await served();
  const { type, sees } = await begun(reach);
  type("/pause clrek too fast\r");
  await sees("did you mean `clerk`?");
  const { client } = reach;
  const standing = async () => {
    const found = await client.call("halts", { query: { limit: 500 } });
    return found.kind === "ok" ? found.value.items.map(({ scope, reason }) => [scope, reason]) : found.problem;
  };
  for (const [line, says] of [
    ["/pause clerk", "`/pause AGENT REASON`"],
    ["/halt all", "`/halt all REASON`"],
    ["/resume-work all", "`/resume-work all REASON`"],
    ["/resume-agent clerk", "`/resume-agent AGENT REASON`"],
  ] as const) {
    type(`${line}\r`);
    await sees(says);
  }
  expect(await standing()).toEqual([]);
  for (const line of ["/pause clrek --anyway too fast", "/halt tool look wrong", "/halt all stop"]) {
    type(`${line}\r`);
    await sees("nothing of it begins any more");
  }
  expect(await standing()).toEqual([
    ["agent:clrek", "too fast"],
    ["tool:look", "wrong"],
    ["all", "stop"],
  ]);
});

test("what was sent before there was anybody is done in its order", async () => {
  const one = person();
  one.type("/agent use other\r");
  one.type("one\r");
  one.type("/agent use clerk\r");
  one.type("two\r");
  const { reach } = await served();
  const shell = await openShell(reach, one.terminal.ui, async () => {});
  closing.push(() => shell.close());
  one.terminal.begin(shell);
  await one.sees("You said: two");
  expect(shell.conversations.all().map(({ view }) => view.agent)).toEqual(["other", "clerk"]);
});

test("each agent has its own conversation, and whoever is addressed hears what is said to nobody", async () => {
  const { reach } = await served();
  const { type, sees, shell } = await begun(reach);
  type("to nobody\r");
  await sees("whom do you mean?");
  type("\u0015@other one\r");
  await sees("You said: one");
  type("/agent use clerk\r");
  await sees("you talk to clerk");
  type("two\r");
  await sees("── clerk ──");
  await sees("You said: two");
  type("@other three\r");
  await sees("You said: three");
  expect(shell.conversations.all().map(({ view }) => [view.agent, view.turn])).toEqual([
    ["other", 2],
    ["clerk", 1],
  ]);
});

test("S-4 an approval while the turn runs: what was being typed is no answer, a key after a pause is, and it is done once", async () => {
  const { at, reach } = await served();
  const { type, sees, later, shell } = await begun(reach);
  type("@clerk pay\r");
  await sees("clerk asks");
  type("y"); // on its way when the question came
  expect(shell.openApprovals()).toHaveLength(1);
  await sees("Tab answers it");
  await sees("› y"); // it went to the line
  expect(at.stand.runs.pay).toBe(0);
  type("\u0015\t");
  later(QUIET_MS);
  type("y");
  await sees("You approved it.");
  await sees("pay answered: paid");
  expect(at.stand.runs.pay).toBe(1);
});

test("Q-17 a halt stands in the status bar and in `/status`, and whoever approves under it is told that it waits and how to lift it", async () => {
  const { at, reach } = await served();
  const { type, sees, shell } = await begun(reach);
  type("@clerk pay\r");
  await sees("clerk asks");
  const [question] = shell.openApprovals();
  if (question === undefined) throw new Error("nothing waits");
  await shell.submit("/halt agent clerk look first");
  await sees("halted: agent clerk ·");
  await shell.submit("/status");
  await sees("agent clerk is halted by user:");
  await shell.submit(`/approve ${question.item.approval}`);
  await sees("it has not run: agent clerk is halted by");
  await sees("`/resume-work agent clerk REASON` lifts it");
  expect(at.stand.runs.pay).toBe(0);
  await shell.submit("/resume-work agent clerk looked");
  await sees("pay answered: paid");
});

test("S-4 a question that came while something else had the keys is answered by none of them, nor by the next before it was seen", async () => {
  const { at, reach } = await served();
  const { type, sees, later, terminal, shell } = await begun(reach);
  let isLeft = false;
  terminal.ui.show({
    rows: () => ["the fleet"],
    pressed: () => {
      isLeft = true;
      terminal.ui.show(null);
    },
  });
  await sees("the fleet");
  await shell.submit("@clerk pay");
  while (shell.openApprovals().length === 0) await new Promise((done) => setImmediate(done));
  terminal.ui.changed();
  await new Promise((done) => setImmediate(done));
  later(QUIET_MS * 10); // it is long since it came, and nobody has seen it
  type("q");
  type("y");
  expect(isLeft).toBe(true);
  await sees("clerk asks");
  await sees("› y"); // it went to the line
  expect(shell.openApprovals()).toHaveLength(1);
  expect(at.stand.runs.pay).toBe(0);
  type("\u0015\t");
  later(QUIET_MS + 1);
  type("y");
  await sees("pay answered: paid");
  expect(at.stand.runs.pay).toBe(1);
});

test("S-4 no with a reason: the agent is told, and nothing runs", async () => {
  const { at, reach } = await served();
  const { type, sees, later } = await begun(reach);
  type("@clerk pay\r");
  await sees("clerk asks");
  later(QUIET_MS);
  type("n");
  await sees("why not?");
  type("too much\r");
  await sees("too much");
  expect(at.stand.runs.pay).toBe(0);
});

test("Ctrl-C stops the turn that runs, and leaves only when it is pressed again", async () => {
  const hold = latch();
  const { reach } = await served({ hold });
  const { type, sees, terminal } = await begun(reach);
  type("@clerk wait\r");
  await hold.reached;
  await sees("Esc cancels");
  type("half a thought\u0003");
  type("\u0003");
  await sees("cancelled; Ctrl-C again leaves");
  hold.open();
  type("\u0003");
  await terminal.left;
});

test("S-13 a command that is refused does not stay in the line, and `!` runs nothing: neither reaches an agent", async () => {
  const { reach } = await served();
  const { type, sees, shell } = await begun(reach);
  type("/agent use clerk\r");
  await sees("you talk to clerk");
  type("/config\r");
  await sees("there is no command `/config`");
  type("/login\r");
  await sees("there is no command `/login`");
  type("!rm -rf .\r");
  await sees("`!` runs nothing here");
  type("hello\r");
  await sees("You said: hello");
  expect(
    shell.conversations
      .all()
      .map(({ view }) => view.items.flatMap((item) => (item.kind === "said" && item.how === "turn" ? [item.text] : []))),
  ).toEqual([["hello"]]);
});

test("the shell says once what it is and how to get help, and nothing of it in lines", async () => {
  const { reach } = await served();
  const { sees } = await begun(reach);
  await sees("agents under your policies");
  await sees("/help");
});

test("`/mcp` lists servers as `orgate mcp list` does; attached to a server elsewhere it says where to ask", async () => {
  const { reach } = await served();
  const asked: (readonly string[])[] = [];
  const twin: ServerConnection["runCommand"] = async (argv) => {
    asked.push(argv);
    return { code: 0, text: "files  accepted" };
  };
  const own = await begun({ ...reach, runCommand: twin });
  own.type("/mcp\r");
  await own.sees("files  accepted");
  own.type("/mcp files\r");
  await own.sees("files  accepted");
  expect(asked).toEqual([
    ["mcp", "list"],
    ["mcp", "list", "files"],
  ]);
  const elsewhere = await begun(reach);
  elsewhere.type("/mcp\r");
  await elsewhere.sees("`orgate mcp list` there");
});

test("Esc cancels the turn that runs; Ctrl-C twice leaves", async () => {
  const hold = latch();
  const { reach } = await served({ hold });
  const { type, sees, terminal } = await begun(reach);
  type("@clerk wait\r");
  await hold.reached;
  await sees("Esc cancels");
  type("\u001b");
  await sees("ancelled");
  hold.open();
  type("half a thought\u0003");
  type("\u0003");
  await sees("Ctrl-C again leaves");
  type("\u0003");
  await terminal.left;
});

test("S-19 another shell takes the session up and shows all of it, each line once", async () => {
  const { reach } = await served();
  const first = await begun(reach);
  first.type("@clerk remember me\r");
  await first.sees("You said: remember me");
  const [talk] = first.shell.conversations.all();
  if (talk === undefined) throw new Error("there is none");
  const second = await begun(reach);
  second.type(`/resume ${talk.session}\r`);
  await second.sees("› remember me");
  await second.sees("You said: remember me");
  expect(second.text()).not.toContain("remember me");
  second.type("again\r");
  await first.sees("You said: again");
});

async function inLines(...given: readonly string[]) {
  const { reach } = await served();
  const lines: string[] = [];
  const {
    ui: face,
    begin,
    run,
  } = openPlainUi(Readable.from(given.map((line) => `${line}\n`)), (line) => lines.push(line), {
    columns: 80,
    paint: plain,
    theme: "plain",
    ask: null,
    cwd: ".",
    prompt: null,
  });
  const shell = await openShell(reach, face, async () => {});
  closing.push(() => shell.close());
  begin(shell);
  return { isWaiting: await run(), text: lines.join("\n") };
}

test("in lines: what is settled, in order and once, and nothing that moves a cursor", async () => {
  const { isWaiting, text } = await inLines("/agent use clerk", "hello", "look");
  expect(isWaiting).toBe(false);
  expect(text).toMatch(/you talk to clerk[\s\S]*› hello[\s\S]*You said: hello[\s\S]*› look[\s\S]*● look\(\)[\s\S]*seen/);
  expect(text).not.toContain("\u001b");
  expect(text.match(/› hello/g)).toHaveLength(1);
});

test("S-7 at the end of the input the turn has gone as far as it can, and a question says that it waits, and how to answer", async () => {
  const { isWaiting, text } = await inLines("@clerk pay");
  expect(isWaiting).toBe(true);
  expect(text).toMatch(/› pay[\s\S]*clerk asks: pay\(\)[\s\S]*\/approve a_\w+/);
});

test("typed in lines, a prompt says whose turn it is and to whom one talks: after all that is written, and not while a turn runs; Ctrl-C cancels that, and leaves where nothing runs", async () => {
  const hold = latch();
  const { reach } = await served({ hold });
  const input = new PassThrough();
  let text = "";
  let tell = (): void => {};
  const add = (more: string): void => {
    text += more;
    tell();
  };
  const sees = async (end: string | RegExp): Promise<void> => {
    while (!(typeof end === "string" ? text.endsWith(end) : end.test(text))) {
      const { promise, resolve } = Promise.withResolvers<void>();
      tell = resolve;
      await promise;
    }
  };
  const look = { columns: 80, paint: plain, theme: "plain", ask: null, cwd: ".", prompt: add } as const;
  const { ui: face, begin, run, interrupt } = openPlainUi(input, (line) => add(`${line}\n`), look);
  const shell = await openShell(reach, face, async () => {});
  closing.push(() => shell.close());
  begin(shell);
  const ended = run();
  await sees("> ");
  expect(text).toBe("> ");
  input.write("/agent use clerk\n");
  await sees("you talk to clerk\n@clerk> ");
  input.write("hello\n");
  await sees(/You said: hello\n.*1 iteration.*\n@clerk> $/);
  face.print(["something happened", "elsewhere"]); // it is not written behind the prompt, and the prompt comes again
  await sees("\nsomething happened\nelsewhere\n@clerk> ");
  const before = text.length;
  input.write("wait\n");
  await hold.reached;
  interrupt();
  await sees(/cancelled.*\n@clerk> $/s);
  expect(text.slice(before).match(/> $/gm)).toHaveLength(1);
  expect(text).not.toContain("\u001b");
  interrupt();
  expect(await ended).toBe(false);
});

test("what is said while a turn runs waits below, and stands in the scrollback once", async () => {
  const hold = latch();
  const { reach } = await served({ hold });
  const { type, sees, shell } = await begun(reach);
  type("@clerk wait\r");
  await hold.reached;
  type("@clerk and then\r");
  await sees("and then (for later)");
  hold.open();
  await sees("You said: and then");
  expect(shell.conversations.all().map(({ view }) => queuedTexts(view))).toEqual([[]]);
});

test("S-2 the shell's own key lets its person in, and nothing that is not exactly it", async () => {
  const { at } = await served();
  const door = await withOwnKey(at.identity, "ann", "own-token");
  const asking = (authorization: string) =>
    ({ via: "http", method: "GET", path: "/", query: new URLSearchParams(), headers: { authorization }, remote: "127.0.0.1" }) as const;
  expect(await door.authenticate(asking("Bearer own-token"))).toMatchObject({ principal: { kind: "user", id: "ann" } });
  for (const wrong of ["Bearer own-toke", "Bearer own-tokens", "bearer own-token", ""])
    expect(await door.authenticate(asking(wrong))).toMatchObject({ status: 401 });
});

test("S-22 what is refused is said with a hint, and comes back to the line", async () => {
  const { reach } = await served();
  const { type, sees } = await begun(reach);
  type("@nobody hello\r");
  await sees("there is no agent `nobody`");
  await sees("› @nobody hello");
});

test("S-20 a long conversation shows its end, and `/history` what was before it, piece by piece and each once", async () => {
  const { at, reach } = await served();
  const history = Array.from({ length: 450 }, (_, i) => [
    { role: "user", text: `question ${i}.` } as const,
    { role: "assistant", text: `answer ${i}.` } as const,
  ]).flat();
  const { session } = await at.stand.runtime.sessions.import({ agent: "clerk", history });
  const { type, sees } = await begun(reach);
  type(`/resume ${session}\r`);
  await sees("… 500 items before this: /history");
  await sees("question 250.");
  await sees("answer 449.");
  type("/history 400\r");
  await sees("… 100 items before this: /history");
  await sees("question 50.");
  await sees("answer 249.");
  type("/history\r");
  await sees("question 0.");
  await sees("answer 49.");
  type("/history\r");
  await sees("all of this conversation stands above");
});
