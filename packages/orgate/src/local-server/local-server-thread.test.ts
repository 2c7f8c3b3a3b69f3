import { afterEach, expect, test } from "vitest";
import { AGENT, type Desk, makeDesk, until } from "../cli/commands/fixtures/desk.ts";
import { quietScreen } from "./fixtures/screen.ts";
import { fromGivenText } from "./local-server-frames.ts";
import { startLocalServerThread } from "./local-server-thread.ts";

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function at(desk: Desk) {
  const said: string[] = [];
  const screen = quietScreen(said);
  const { PATH } = process.env;
  return {
    said,
    screen,
    given: fromGivenText({ texts: {}, flags: [], project: null, cwd: desk.root, env: { PATH, ORGATE_HOME: desk.home } }),
  };
}
function desk(change: (agent: string) => string): Desk {
  const made = makeDesk();
  closing.push(made.remove);
  made.write("agents/desk.ts", change(AGENT));
  return made;
}

const CRASH = `const crash = defineTool({ name: "crash", description: "ends the thread", input: none, run: () => {
  setImmediate(() => { throw new Error("nobody caught it"); });
  return new Promise(() => {});
} });
console.log("printed by the project");
export default`;
const withCrash = (agent: string) =>
  agent
    .replace("export default", CRASH)
    .replace("tools: [look,", "tools: [crash, look,")
    .replace("modelOptions: { rules: [", 'modelOptions: { rules: [{ when: { says: "crash" }, calls: [{ tool: "crash" }] },');

test("the server is in a thread of its own: what the project prints is said beside, and commands run in there", async () => {
  const { said, screen, given } = at(desk(withCrash));
  const reach = await startLocalServerThread(given, screen, null);
  closing.push(() => reach.close());
  await until(() => (said.includes("printed by the project") ? true : null));
  const found = await reach.client.call("agents", { query: {} });
  expect(found).toMatchObject({ kind: "ok", value: { items: [{ name: "desk" }] } });
  expect(await reach.runCommand?.(["agents", "list"])).toMatchObject({ code: 0, text: expect.stringContaining("desk") });
  expect(await reach.runCommand?.(["agents", "nonsense"])).toMatchObject({ code: 2, text: expect.stringContaining("error:") });

  // S-3, while it is here: a thread that ends by itself
  await reach.client.call("execute", { params: { agent: "desk" }, body: { input: "crash" } }).catch(() => null);
  const fault = await reach.lost;
  expect(fault?.message).toContain("nobody caught it");
  await reach.close();
});

test("S-3 a project that cannot be loaded is refused as ever, and its thread is gone", async () => {
  const { screen, given } = at(desk(() => "export default 1 +;"));
  await expect(startLocalServerThread(given, screen, null)).rejects.toMatchObject({ fault: { kind: "file-bad" } });
});
