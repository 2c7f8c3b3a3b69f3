/** Several agents at one task, from a shell before a server. */

import type { Shell, ShellUi } from "@orgate/shell";
import { connectTo, ORCHESTRATE_COMMANDS, openShell } from "@orgate/shell";
import { plain } from "@orgate/shell/terminal";
import { complete } from "@orgate/shell/testing";
import { afterEach, expect, test } from "vitest";
import { type Guarded, openGuarded, until } from "../server/fixtures/guarded.ts";
import { latch } from "../server/fixtures/stand.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Sat = Readonly<{
  at: Guarded;
  shell: Shell /** All that stands in the scrollback. */;
  said(): string;
  sees(words: string | RegExp): Promise<void>;
}>;
async function sat(options: Parameters<typeof openGuarded>[0] = {}): Promise<Sat> {
  const at = await openGuarded({ names: ["clerk", "other", "conductor"], ...options });
  closing.push(() => at.stop());
  const reach = {
    ...connectTo(at.at.url, await at.give()),
    name: "test",
    isLocal: false,
    lost: null,
    runCommand: null,
    close: async () => {},
  };
  const lines: string[] = [];
  const face: ShellUi = {
    look: () => ({ columns: 100, paint: plain, showThinking: false }),
    print: (more) => void lines.push(...more),
    changed: () => {},
    leave: () => {},
    cwd: ".",
    files: () => [],
    show: () => false,
    askHidden: async () => "",
    setTheme: () => {},
  };
  const shell = await openShell(reach, face, async () => {});
  closing.push(() => shell.close());
  const said = (): string => {
    lines.push(...shell.takeSettledLines());
    return lines.join("\n");
  };
  const sees = async (words: string | RegExp): Promise<void> => {
    await until(() => (typeof words === "string" ? said().includes(words) : words.test(said())) || undefined);
  };
  return { at, shell, said, sees };
}

const childrenOf = async ({ at }: Sat) => {
  const all = await at.stand.runtime.place.store.journal.sessions({ state: null, agent: null, before: null, most: 50 });
  return all.filter(({ parent }) => parent !== null);
};

test("S-20 parallel: both are at work at once, a card for each and what they used together", async () => {
  const hold = latch();
  const one = await sat({ hold });
  expect(await one.shell.submit('/parallel clerk other --budget 20000 "wait"')).toBe(true);
  await until(() => (one.at.stand.runs.wait === 2 ? true : undefined)); // neither has ended when the other has begun
  hold.open();
  await one.sees("2 members together");
  expect(one.said()).toMatch(/● clerk\(wait\) .* · \d+ tokens/);
  expect(one.said()).toMatch(/● other\(wait\) .* · \d+ tokens/);
  expect(one.said()).toContain("## clerk");
  expect((await childrenOf(one)).map(({ ending }) => ending)).toEqual(["completed", "completed"]);
  expect(one.shell.addressee(), "whom you talk to stays whom you talk to").toBeNull();
});

test("S-17 over the API a turn that completed tells of each member what became of it", async () => {
  const hold = latch();
  const one = await sat({ hold });
  const line = '/parallel clerk other --budget tokens=20000 "wait"';
  const answer = one.shell.connection.client.call("execute", { params: { agent: "conductor" }, body: { input: line } });
  await until(() => (one.at.stand.runs.wait === 2 ? true : undefined));
  const other = (await childrenOf(one)).find(({ agent }) => agent === "other");
  if (other === undefined) throw new Error("the other is not at work");
  await one.shell.unwrap(one.shell.connection.client.call("cancel", { params: { session: other.session }, body: { reason: "enough" } }));
  await until(async () => ((await childrenOf(one)).some(({ ending }) => ending === "cancelled") ? true : undefined));
  hold.open();
  expect(await answer).toMatchObject({
    kind: "ok",
    value: {
      ending: "completed",
      members: [
        { agent: "clerk", ending: "completed", detail: null },
        { agent: "other", session: other.session, ending: "cancelled" },
      ],
    },
  });
});

test("what a member asks is asked here, while the whole runs, and its answer goes to its session", async () => {
  const one = await sat();
  await one.shell.submit('/chain clerk other "pay"');
  const [asked] = await until(() => (one.shell.openApprovals().length > 0 ? one.shell.openApprovals() : undefined));
  if (asked === undefined) throw new Error("nobody was asked");
  expect([asked.agent, asked.item.tool]).toEqual(["clerk", "pay"]);
  const { session, item } = asked;
  expect(await one.shell.answer({ session, approval: item.approval, digest: item.digest }, { kind: "approve" })).toBe(true);
  const [second] = await until(() => {
    const open = one.shell.openApprovals().filter(({ agent }) => agent === "other");
    return open.length > 0 ? open : undefined;
  });
  if (second === undefined) throw new Error("the second was not asked");
  await one.shell.answer(
    { session: second.session, approval: second.item.approval, digest: second.item.digest },
    { kind: "deny", reason: "enough" },
  );
  await one.sees("2 members together");
  expect(one.at.stand.runs.pay).toBe(1);
  await until(() => (one.shell.openApprovals().length === 0 && one.shell.conversations.subAgents().length === 0 ? true : undefined));
});

test("race: who lost is not shown as a failure, and Esc stops all of it", async () => {
  const hold = latch();
  const one = await sat({ hold });
  await one.shell.submit('/race clerk other "wait"');
  await until(() => (one.at.stand.runs.wait === 2 ? true : undefined));
  expect(await one.shell.cancel("enough")).toBe(true);
  hold.open();
  await one.sees(/cancelled/);
  const ended = async () => (await childrenOf(one)).every(({ ending }) => ending === "cancelled");
  while (!(await ended())) await new Promise((resume) => setImmediate(resume));
});

test.each([
  ["/chain clerk", "the task is missing"],
  ['/chain clerk nobody "x"', "`nobody` is not among those that the conductor may have work; there are: clerk, other"],
  ['/debate clerk other 99 "x"', "a debate has 1 to 10 rounds, not 99"],
  ["/race help", "all at once; the first that completes is enough"],
])("S-20 what cannot be is said, and nothing is begun: %s", async (line, words) => {
  const one = await sat();
  await one.shell.submit(line);
  expect(one.said()).toContain(words);
  expect(await childrenOf(one)).toEqual([]);
});

test("S-20 without a conductor it says what is missing", async () => {
  const one = await sat({ names: ["clerk", "other"] });
  await one.shell.submit('/race clerk other "x"');
  expect(one.said()).toContain("this project has no agent `conductor`");
});

test("S-20 members are completed by name, one after the other, and not within the task", () => {
  const agents = ["clerk", "other"].map((word) => ({ word, about: "" }));
  const isOne = (name: string): boolean => ORCHESTRATE_COMMANDS.some((one) => one.name === name && one.takes?.[0] === "agent");
  const choices = { commands: [], agents, files: () => [], argumentOffers: (name: string) => (isOne(name) ? agents : null) };
  const offered = (text: string) => complete({ text, at: text.length }, choices)?.offers.map(({ word }) => word) ?? [];
  expect(offered("/chain cl")).toEqual(["clerk"]);
  expect(offered("/race clerk ot")).toEqual(["other"]);
  expect(offered('/race clerk other "cl')).toEqual([]);
  expect(offered('/race clerk other "have cl')).toEqual([]);
});
