// On a real terminal: tmux draws what the shell writes, and types what a person would.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { type Desk, makeDesk, until } from "../commands/fixtures/desk.ts";
import { openPane, type Pane } from "./fixtures/pane.ts";

const ending: (() => void)[] = [];
afterEach(() => {
  for (const end of ending.splice(0).reverse()) end();
});
function pane(desk: Desk): Pane {
  const made = openPane(desk);
  ending.push(made.close);
  return made;
}

test("S3 a paste sends nothing, a killed shell goes on where it was, and the terminal is given back", async () => {
  const desk = makeDesk();
  ending.push(desk.remove);
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
  keys("C-c");
  await sees("Ctrl-C again leaves");
  keys("C-c");
  await sees("ended 0");
  await sees(/icanon[\s\S]*echo/);
}, 60_000);

test("S62 without a terminal it speaks in lines, in front of a server of its own", async () => {
  const desk = makeDesk();
  ending.push(desk.remove);
  const { code, stdout } = await desk.start(["shell"], "look around\n/cost\n").ended;
  expect([code, stdout]).toEqual([0, expect.stringMatching(/› look around[\s\S]*● look\(\)[\s\S]*I looked: [\s\S]*1 turn · /)]);
  expect(stdout).not.toContain("\u001b");
});

test("S1 attached, the same: a server that is killed and started again is talked to as before", async () => {
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
  const { tmux, keys, sees, orgate } = pane(desk);
  tmux("send-keys", `export ORGATE_API_KEY=${token}; clear`, "Enter");
  orgate(`shell --attach http://127.0.0.1:${first.port}`);
  await sees("@desk");
  keys("before", "Enter");
  await sees("You said: before");
  first.kill();
  await sees("(connecting)");
  keys("after", "Enter"); // it is sent once there is somebody again
  await served(first.port);
  await sees("You said: after");
  expect(((await desk.json("sessions", "list")) as unknown[]).length).toBe(1);
}, 60_000);
