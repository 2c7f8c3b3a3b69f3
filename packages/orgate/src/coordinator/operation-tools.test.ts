import type { CallKey, Json, JsonObject, SessionId, ToolContext } from "@orgate/core";
import { OPERATION_NAMES, OPERATION_WORDS } from "@orgate/protocol/words";
import { afterEach, expect, test } from "vitest";
import { hasProjection } from "../operations/coordinator/shown.ts";
import { type DeskStand, openDeskStand } from "../server/fixtures/desk-stand.ts";
import { OPERATIONS_WITHOUT_TOOL, TOOLS_BY_HAND } from "./fixtures/tool-reasons.ts";
import { coordinatorTools } from "./tools.ts";

const open: DeskStand[] = [];
afterEach(async () => {
  for (const stand of open.splice(0)) await stand.close();
});

/** A conversation in which this person has spoken. */
async function conversing(who: "ann" | "ben"): Promise<Readonly<{ stand: DeskStand; session: SessionId }>> {
  const stand = await openDeskStand();
  open.push(stand);
  const session = await stand.converse(who);
  await stand.say(session, "which agents are there?", who);
  return { stand, session };
}

async function call({ stand, session }: Awaited<ReturnType<typeof conversing>>, name: string, args: JsonObject, key = "k"): Promise<Json> {
  const tool = stand.desk.tools.find((one) => one.name === name);
  const checked = tool?.check(args);
  if (tool === undefined || checked?.kind !== "valid") throw new Error(`not a call of ${name}`);
  const context = { session, key: key as CallKey, signal: new AbortController().signal } as ToolContext; // the rest is not read
  return JSON.parse(JSON.stringify(await tool.run(checked.args, context)));
}
const withTool = OPERATION_NAMES.flatMap((name) => {
  const { tool } = OPERATION_WORDS[name];
  return tool === undefined ? [] : [{ name, tool }];
});

test("every operation is a tool, or has a reason why a model does not get it; every tool is an operation, or has a reason why it is written by hand", () => {
  const without = OPERATION_NAMES.flatMap((name) =>
    OPERATION_WORDS[name].tool === undefined && OPERATIONS_WITHOUT_TOOL[name] === undefined
      ? [`${name}: its words need \`tool\`, or OPERATIONS_WITHOUT_TOOL in coordinator/fixtures/tool-reasons.ts needs \`${name}: REASON\``]
      : [],
  );
  expect(without).toEqual([]);
  expect([...withTool.map(({ name }) => name), ...Object.keys(OPERATIONS_WITHOUT_TOOL)].sort()).toEqual([...OPERATION_NAMES].sort());
  const names = coordinatorTools().tools.map(({ name }) => name);
  expect([...withTool.map(({ tool }) => tool.name), ...Object.keys(TOOLS_BY_HAND)].sort()).toEqual([...names].sort());
  for (const reason of [...Object.values(OPERATIONS_WITHOUT_TOOL), ...Object.values(TOOLS_BY_HAND)]) expect(reason).toMatch(/^\S.{15,}$/);
});

test("no tool answers for people, changes a policy, or lifts a halt", () => {
  const never: readonly string[] = ["approve", "deny", "withdraw", "resolve", "halt", "edit-policy", "edit-schedule"];
  for (const { name } of withTool) {
    const { act, onlyConnected } = OPERATION_WORDS[name];
    expect(typeof act === "string" ? act : never.includes(act.kind), name).toBe(false);
    expect(onlyConnected, name).toBeUndefined();
  }
});

test("each derived tool says what the model gets: by its words, or by one projection", () => {
  const message = (name: string) =>
    `${name}: its \`tool\` words have \`shows\`, or operations/coordinator/shown.ts has its projection: one of the two`;
  for (const { name, tool } of withTool) expect(hasProjection(name), message(name)).toBe(tool.shows === undefined);
});

test("a tool that changes something does it once for a call, as after a crash; another call does it again", async () => {
  const at = await conversing("ann");
  const { stand } = at;
  const change = { breaker: "tool:list_agents", to: "open", minutes: 5, reason: "it fails" };
  const first = await call(at, "set_breaker", change, "k1");
  expect(first).toEqual({ breaker: "tool:list_agents", to: "open", minutes: 5 });
  const [before] = await stand.runtime.breakers.list();
  expect(before).toMatchObject({ breaker: "tool:list_agents", state: "open", by: { id: "ann" }, reason: "it fails" });
  expect(await call(at, "set_breaker", change, "k1")).toEqual(first);
  expect((await stand.runtime.breakers.list())[0]).toEqual(before);
  await expect(call(at, "set_breaker", { ...change, minutes: 6 }, "k1")).rejects.toThrow("this key was used for another request");
  await call(at, "set_breaker", { ...change, reason: "it still fails" }, "k2");
  expect((await stand.runtime.breakers.list())[0]).toMatchObject({ reason: "it still fails" });
});

test("a turn is cancelled once for a call, signed by the person whose words began the conversation's turn", async () => {
  const at = await conversing("ann");
  const session = await at.stand.converse("ann");
  await at.stand.say(session, "run clerk: count"); // waits for approval
  const told = await call(at, "cancel_turn", { session, reason: "enough" }, "k3");
  expect(told).toEqual({ session, cancelled: true, note: "" });
  expect(await call(at, "cancel_turn", { session, reason: "enough" }, "k3")).toEqual(told);
  const asked = (await at.stand.entries(session)).filter(({ event }) => event.kind === "turn.cancel-asked");
  expect(asked).toMatchObject([{ event: { by: { id: "ann" }, reason: "enough" } }]);
});

test("nothing changes the conversation from within it, and a session that is not there is not cancelled", async () => {
  const at = await conversing("ann");
  await expect(call(at, "cancel_turn", { session: at.session })).rejects.toThrow("that is this conversation");
  await expect(call(at, "cancel_turn", { session: "s_0000000000" })).rejects.toThrow("s_0000000000");
});

test("W-9 lists of breakers, halts and schedules have what everybody who speaks may see, and nothing more", async () => {
  const ann = await conversing("ann");
  const { stand } = ann;
  await stand.runtime.breakers.set("tool:list_agents", { to: "open", reason: "look" }, stand.people.ann);
  await stand.runtime.halt("agent:other", "a pause", stand.people.ann);
  await stand.runtime.halt("agent:clerk", "a rest", stand.people.ann);
  expect(await call(ann, "list_breakers", {})).toMatchObject({
    count: 1,
    more: false,
    breakers: [{ breaker: "tool:list_agents", state: "open", by: "ann", until: null, reason: "look" }],
  });
  expect(await call(ann, "list_halts", {})).toMatchObject({
    count: 2,
    halts: [{ scope: "agent:other", by: "ann" }, { scope: "agent:clerk" }],
  });
  expect(await call(ann, "list_halts", { most: 1 })).toMatchObject({ count: 1, more: true });
  const session = await stand.converse("ben");
  await stand.say(session, "which agents are there?", "ben");
  expect(await call({ stand, session }, "list_halts", {})).toEqual({
    count: 1,
    more: false,
    halts: [{ scope: "agent:clerk", by: "ann", reason: "a rest", ago: expect.stringMatching(/^\d+ s$/) }],
  });
});
