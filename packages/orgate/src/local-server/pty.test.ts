// On a real terminal: tmux draws what the shell writes, and types what a person would.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { AGENT, type Desk, makeDesk, until } from "../cli/commands/fixtures/desk.ts";
import { openPane, type Pane } from "./fixtures/pane.ts";

const ending: (() => void)[] = [];
afterEach(() => {
  for (const end of ending.splice(0).reverse()) end();
});
function pane(desk: Desk, env: Readonly<Record<string, string>> = {}): Pane {
  const made = openPane(desk, env);
  ending.push(made.close);
  return made;
}

test("S-3 S-6 a paste sends nothing, a killed shell goes on where it was, lines are found again, a flood is drawn, and the terminal is given back: stopped, crashed, left", {
  tags: ["tmux"],
  timeout: 120_000,
}, async () => {
  const desk = makeDesk();
  ending.push(desk.remove);
  desk.write("agents/desk.ts", withMore(AGENT));
  const { tmux, screen, keys, sees, orgate } = pane(desk);
  orgate("shell");
  await sees("@desk");
  tmux("set-buffer", "first line\nsecond line\n");
  tmux("paste-buffer", "-p");
  await sees("second line");
  expect(screen()).not.toContain("You said");
  keys("C-c");
  keys("hold on to it", "Enter");
  await until(() => (desk.has("effects.txt") ? true : null)); // the tool runs
  tmux("resize-window", "-x", "60", "-y", "20");
  process.kill(Number(readFileSync(join(desk.root, "pid"), "utf8")), "SIGKILL");
  await sees("ended 137");
  keys("stty sane; clear", "C-j"); // nobody gave it back: enter is no line feed yet
  tmux("clear-history");
  desk.write("go", "");

  const [held] = (await desk.json("sessions", "list")) as { session: string }[];
  orgate(`shell --resume ${held?.session}`);
  await sees("› hold on to it");
  await sees(/\d iterations?/); // its turn has ended: nobody did it twice
  expect(desk.read("effects.txt")).toBe("hold\n");
  keys("hello again", "Enter");
  await sees("You said: hello again");

  // lines of the shell before, gone through and searched (S-6); what is written is completed
  keys("Up", "Up");
  await sees(/› hold on to it\n/);
  keys("C-c", "C-r", "on to");
  await sees("search `on to`: hold on to it");
  keys("Escape");
  await sees(/^› $/m);
  keys("/the");
  await sees("▸ /theme");
  keys("Tab", "con", "Tab");
  await sees("› /theme contrast");
  keys("C-u", "@de");
  await sees("▸ @desk");
  keys("C-u", "one", "M-Enter", "two", "Enter"); // two lines, sent once
  await sees("You said: one");

  // 10,000 lines at once, and the line is still one's own
  keys("flood", "Enter");
  await sees("line 9999");
  await sees("flood answered: printed");
  keys("still here");
  await sees("› still here");
  keys("C-l");
  await until(() => (tmux("capture-pane", "-p").trimStart().startsWith("› still here") ? true : null));
  keys("C-u");
  tmux("resize-window", "-x", "80", "-y", "30");

  // stopped, the terminal is the other's; continued, it is the shell's, with what was written
  keys("half a thought", "C-z");
  await sees(/ended 148\nicanon\necho/);
  keys("fg", "Enter");
  await sees("› half a thought");
  keys("C-c", "C-c");
  await sees("Ctrl-C again leaves");

  // S-3 its server's thread ends by an error that nobody caught
  keys("crash now", "Enter");
  await sees("unreachable: the shell's own server: nobody caught it");
  await sees(/goes on\s+here\nerror: [\s\S]*hint: start `orgate shell` again/);
  keys("echo code $?; stty -a | tr ' ' '\\n' | grep -x 'icanon;*\\|echo;*'", "Enter");
  await sees(/code 1\nicanon\necho/);

  // it goes on, and Ctrl-C twice leaves
  keys("clear", "Enter");
  tmux("clear-history");
  orgate("shell");
  await sees("@desk");
  keys("C-c");
  await sees("Ctrl-C again leaves");
  keys("C-c");
  await sees("ended 0");
});

/** A tool that ends the thread, once, and one that prints ten thousand lines. */
const withMore = (agent: string): string =>
  agent
    .replace(
      "export default",
      `const crash = defineTool({ name: "crash", description: "ends it", input: none, repeat: "once", run: () => {
  if (existsSync(join(root, "crashed"))) return "again";
  appendFileSync(join(root, "crashed"), "");
  setImmediate(() => { throw new Error("nobody caught it"); });
  return new Promise(() => {});
} });
const flood = defineTool({ name: "flood", description: "prints", input: none, repeat: "read", effects: ["read"], run: () => {
  for (let i = 0; i < 10_000; i += 1) console.log("line " + i);
  return "printed";
} });
export default`,
    )
    .replace("tools: [look,", "tools: [crash, flood, look,")
    .replace(
      "modelOptions: { rules: [",
      'modelOptions: { rules: [{ when: { says: "crash" }, calls: [{ tool: "crash" }] }, { when: { says: "flood" }, calls: [{ tool: "flood" }] },',
    );

test("without a terminal it speaks in lines, in front of a server of its own", async () => {
  const desk = makeDesk();
  ending.push(desk.remove);
  const { code, stdout } = await desk.start(["shell"], "look around\n/cost\n").ended;
  expect([code, stdout]).toEqual([0, expect.stringMatching(/› look around[\s\S]*● look\(\)[\s\S]*I looked: [\s\S]*1 turn · /)]);
  expect(stdout).not.toContain("\u001b");
});

test("S-1 V-2 S-20 attached, the same: a server that is killed and started again is talked to as before; left for one's own and gone back to; nothing is coloured where nobody wants it", {
  tags: ["tmux"],
  timeout: 120_000,
}, async () => {
  const desk = makeDesk();
  ending.push(desk.remove);
  const served = async (port: string): Promise<Readonly<{ port: string; kill(): void }>> => {
    const { stdout, kill } = desk.start(["up", "--port", port, "--json"]);
    ending.push(() => kill("SIGKILL"));
    const line = await until(() => (stdout().includes("\n") ? stdout() : null));
    return { port: String((JSON.parse(line) as { port: number }).port), kill: () => kill("SIGKILL") };
  };
  const first = await served("0");
  const { token } = (await desk.json("keys", "create", "ann", "--api")) as { token: string };
  const { tmux, keys, sees, does, orgate } = pane(desk, { NO_COLOR: "1" });
  tmux("send-keys", `export ORGATE_API_KEY=${token}; clear`, "Enter");
  orgate(`shell --attach http://127.0.0.1:${first.port}`);
  await sees("@desk");
  keys("before", "Enter");
  await sees("You said: before");
  first.kill();
  await sees("(connecting)");
  keys("after", "Enter"); // it is sent once there is somebody again, and that is said
  await sees("is away: it is sent as soon as it is back");
  await served(first.port);
  await sees("You said: after");
  expect(((await desk.json("sessions", "list")) as unknown[]).length).toBe(1);

  // to a server of one's own, which knows nothing of the conversation there; and back
  await does("/detach", /local · @desk/);
  await does("on my own", /You said: on my own[\s\S]*local · @desk/);
  await does(`/attach http://127.0.0.1:${first.port}`, new RegExp(`127\\.0\\.0\\.1:${first.port} · @desk`));
  await does("there again", /You said: there again/);
  keys("/nonsense", "Enter"); // what was refused stands in the line again, so that nothing need follow it there
  await sees("there is no command");
  expect(tmux("capture-pane", "-p", "-e", "-S", "-3000")).not.toMatch(/\u001b\[[\d;]*[34][0-7]/); // not even what is wrong
});
