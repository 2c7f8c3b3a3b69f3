import { createServer } from "node:http";
import { Readable } from "node:stream";
import { wireProblem } from "@orgate/protocol";
import type { ShellSetup, ShellUi } from "@orgate/shell";
import { connectToServer, openPlainUi, openServerSwitch } from "@orgate/shell";
import { plain } from "@orgate/shell/terminal";
import { afterEach, expect, test } from "vitest";
import { openGuarded } from "../server/fixtures/guarded.ts";
import { quietScreen } from "./fixtures/screen.ts";
import { fromGivenText } from "./local-server-frames.ts";

const setup = (env: Readonly<Record<string, string>>): ShellSetup => ({
  given: fromGivenText({ texts: {}, flags: [], project: null, cwd: ".", env }),
  screen: quietScreen(),
  startLocalServer: async () => Promise.reject(new Error("no local server here")),
});
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

test("S-20 from one server to another under the same face; one that is not there, or lets nobody in, leaves everything as it was", async () => {
  const servers = await Promise.all([openGuarded({ names: ["clerk"] }), openGuarded({ names: ["other"] })]);
  for (const at of servers) closing.push(() => at.stop());
  const [first, second] = servers.map(({ at }) => at.url);
  const keys = await Promise.all(servers.map((at) => at.give()));
  const lines: string[] = [];
  const asked: string[] = [];
  const face: ShellUi = {
    look: () => ({ columns: 80, paint: plain, showThinking: false }),
    print: (more) => lines.push(...more),
    changed: () => {},
    leave: () => {},
    cwd: ".",
    files: () => [],
    show: () => false,
    askHidden: async (question) => {
      asked.push(question);
      return keys.shift() ?? "";
    },
    setTheme: () => {},
  };
  const begun: string[] = [];
  const seat = openServerSwitch(setup({}), face, (shell) => begun.push(shell.addressee() ?? "nobody"));
  closing.push(() => seat.close());
  await seat.switchTo(first ?? "");
  await seat.shell()?.submit(`/attach ${second}`);
  expect(begun).toEqual(["clerk", "other"]);
  expect(asked).toEqual([expect.stringMatching(/^API key for 127\.0\.0\.1:/), expect.stringMatching(/^API key for/)]);

  keys.push("wrong", "right");
  await seat.shell()?.submit(`/attach ${first}`);
  expect(lines.join("\n")).toMatch(/not signed in|401|sign/i);
  await seat.shell()?.submit("/attach http://127.0.0.1:1");
  expect(lines.join("\n")).toContain("unreachable: 127.0.0.1:1");
  await seat.shell()?.submit("/attach nowhere");
  expect(lines.join("\n")).toContain("no address of a server");
  expect(begun).toEqual(["clerk", "other"]);
  expect(seat.shell()?.addressee()).toBe("other");
});

test.each([
  "http://192.0.2.1:4680",
  "http://localhost.example",
  "http://127.0.0.1.example:80",
  "https://me:pw@127.0.0.1:1",
  "ftp://127.0.0.1",
])("S-2 no key goes to %s, and none is asked for", async (url) => {
  let asked = 0;
  const ask = async (): Promise<string> => {
    asked += 1;
    return "key";
  };
  await expect(connectToServer(url, setup({ ORGATE_API_KEY: "key" }), ask)).rejects.toMatchObject({ fault: { kind: "usage" } });
  expect(asked).toBe(0);
});

test("S-2 what a server says in refusing is shown, and obeyed by no terminal", async () => {
  const hostile = createServer((_, answer) => {
    answer.writeHead(401, { "content-type": "application/problem+json" });
    answer.end(JSON.stringify(wireProblem("unauthenticated", "\u001b]52;c;eA==\u0007no", "\u202eno")));
  });
  await new Promise<void>((resolve) => hostile.listen(0, "127.0.0.1", resolve));
  closing.push(async () => void hostile.close());
  const at = hostile.address();
  const server = await openGuarded({ names: ["clerk"] });
  closing.push(() => server.stop());
  const lines: string[] = [];
  const own = await server.give();
  const { ui: face } = openPlainUi(Readable.from([]), (line) => lines.push(line), {
    columns: 80,
    paint: plain,
    theme: "plain",
    ask: async () => own,
    cwd: ".",
    prompt: null,
  });
  const seat = openServerSwitch(setup({}), face, () => {});
  closing.push(() => seat.close());
  await seat.switchTo(server.at.url);
  await seat.shell()?.submit(`/attach http://127.0.0.1:${typeof at === "object" ? at?.port : 0}`);
  expect(lines.join("\n")).toContain("\\e]52;c;");
  expect(lines.join("")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});
