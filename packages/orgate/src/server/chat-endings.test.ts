/** `/ws/chat` on every ending that a turn can come to, played against a real runtime. */
import { ENDINGS, type Ending, type Row } from "@orgate/core";
import { failure, reply, type Step } from "@orgate/core/testing";
import { type ChatServerMessage, chatServerMessage } from "@orgate/protocol";
import { afterEach, expect, test } from "vitest";
import { until } from "./fixtures/guarded.ts";
import { openStage, type Stage } from "./fixtures/stage.ts";
import { latch } from "./fixtures/stand.ts";
import { openChat } from "./live/chat.ts";

const open: Stage[] = [];
afterEach(async () => {
  for (const stage of open.splice(0)) await stage.close();
});

const call = (tool: string, text?: string): Step => reply.calls([{ tool, args: {} }], text === undefined ? {} : { text });
const ALL: readonly Row[] = [{ id: "permit-all", action: "*", verdict: "allow" }];

type Scene = Readonly<{
  ending: Ending;
  steps: readonly Step[];
  limits?: object;
  rows?: readonly Row[];
  /** Once a call is under way. */
  during?(stage: Stage): Promise<unknown>;
  partial?: string;
}>;
const SCENES: readonly Scene[] = [
  { ending: "completed", steps: [call("look", "Let me see."), reply.text("Done.")], partial: "Done." },
  { ending: "denied", steps: [call("erase"), call("erase"), call("erase")] },
  { ending: "out-of-iterations", steps: [call("look", "Looking.")], limits: { iterations: 1 }, partial: "Looking." },
  { ending: "out-of-calls", steps: [call("look", "Once."), call("look", "Twice.")], limits: { calls: 1 } },
  { ending: "out-of-tokens", steps: [], limits: { tokens: 20, contextTokens: 10 } },
  { ending: "failed", steps: [failure("no such model", { again: false })] },
  { ending: "refused", steps: [reply.text("I will not.", { finish: "refused" } as never)] },
  { ending: "filtered", steps: [reply.text("", { finish: "filtered" } as never)] },
  {
    ending: "cancelled",
    steps: [call("wait", "Waiting.")],
    during: async ({ runtime, sessionDriver, ann }) => {
      const [session] = await runtime.sessions.list();
      if (session !== undefined)
        await sessionDriver.send({ session: session.session, wish: { kind: "cancel", reason: "enough" }, as: ann });
    },
    partial: "Waiting.",
  },
  {
    ending: "halted",
    steps: [call("wait", "Waiting.")],
    during: ({ runtime, ann }) => runtime.halt("all", "stop it", ann),
  },
  { ending: "timed-out", steps: [call("wait", "Waiting.")], limits: { turnMs: 100, toolMs: 100 } },
];

test.each(SCENES.map((scene) => [scene.ending, scene] as const))(
  "W-26 %s: one last chunk after everything else, with its sentence; an error after a failure alone",
  async (ending, scene) => {
    const hold = latch();
    const stage = await openStage({
      steps: scene.steps,
      limits: scene.limits ?? {},
      hold,
      ...(scene.rows === undefined ? {} : { rows: scene.rows }),
    });
    open.push(stage);
    const heard: ChatServerMessage[] = [];
    const send = async (text: string): Promise<void> => void heard.push(chatServerMessage.parse(JSON.parse(text)));
    const ports = { ...stage.ports, subscribe: stage.runtime.subscribe, agent: "clerk" };
    const chat = openChat(ports, { caller: stage.caller, id: "c", duplex: { send, close: () => {} } });
    chat.hear(JSON.stringify({ type: "ChatSend", id: "1", content: "go" }));
    if (scene.during !== undefined) {
      await hold.reached;
      await scene.during(stage);
      hold.open();
    }
    await until(() => heard.find((m) => (ending === "failed" ? m.type === "Error" : m.type === "ChatChunk")));
    hold.open();
    const [summary] = await stage.runtime.sessions.list();
    expect(summary?.ending).toBe(ending);
    const last = heard.filter((m) => m.type === "ChatChunk");
    expect(last).toHaveLength(1);
    expect(last[0]).toMatchObject({
      done: true,
      content: expect.stringContaining(ending === "completed" ? "Done." : ENDINGS[ending].sentence),
    });
    if (scene.partial !== undefined) expect(last[0]).toMatchObject({ content: expect.stringMatching(new RegExp(`^${scene.partial}`)) });
    expect(heard.slice(heard.findIndex((m) => m.type === "ChatChunk") + 1).map((m) => m.type)).toEqual(
      ending === "failed" ? ["Error"] : [],
    );
    const [started, settled] = ["ToolCallStarted", "ToolCallResult"].map((type) => heard.filter((m) => m.type === type).length);
    expect(settled).toBe(started);
    expect(new Set(heard.flatMap((m) => ("request_id" in m ? [m.request_id] : []))).size).toBe(1);
    chat.gone();
  },
);

test("W-26 a call that is put off is told as `defer`, and as what was decided once its time was up", async () => {
  const rows: readonly Row[] = [{ id: "later", action: "tool:look", verdict: "defer", deferMs: 50 }, ...ALL];
  const stage = await openStage({ steps: [call("look"), reply.text("It was not to be.")], rows });
  open.push(stage);
  const heard: ChatServerMessage[] = [];
  const send = async (text: string): Promise<void> => void heard.push(chatServerMessage.parse(JSON.parse(text)));
  const chat = openChat(
    { ...stage.ports, subscribe: stage.runtime.subscribe, agent: "clerk" },
    { caller: stage.caller, id: "c", duplex: { send, close: () => {} } },
  );
  chat.hear(JSON.stringify({ type: "ChatSend", id: "1", content: "go" }));
  await until(() => heard.find((m) => m.type === "PolicyDecision" && m.decision === "defer"));
  await until(() => {
    void stage.sessionDriver.sweep("interrupted"); // as every few seconds
    return heard.find((m) => m.type === "ChatChunk");
  });
  const about = heard.flatMap((m) => (m.type === "PolicyDecision" && m.action === "tool:look" ? [m.decision] : []));
  expect([about[0], about.at(-1)]).toEqual(["defer", "deny"]);
  expect(heard.some((m) => m.type === "ToolCallStarted")).toBe(false);
  chat.gone();
});
