/** `useChat` against an agent: the AI SDK's own chat, transport and stream reader at one end, a real runtime at the other. */
import { reply } from "@orgate/core/testing";
import { UI_STREAM_HEADERS } from "@orgate/protocol";
import { AbstractChat, type ChatState, type ChatStatus, DefaultChatTransport, type UIMessage } from "ai";
import { afterEach, expect, test } from "vitest";
import { openStage, type Stage, type StageOptions } from "../fixtures/stage.ts";
import { latch } from "../fixtures/stand.ts";
import { openUiChat } from "./ui-chat.ts";

const open: Stage[] = [];
afterEach(async () => {
  for (const stage of open.splice(0)) await stage.close();
});
async function stageOf(options: StageOptions): Promise<Stage> {
  const stage = await openStage(options);
  open.push(stage);
  return stage;
}

/** A stand-in for the state that `useChat` keeps in React. */
class State implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[] = [];
  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message];
  };
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, structuredClone(message));
  };
  snapshot = <T>(thing: T): T => structuredClone(thing);
}
class Chat extends AbstractChat<UIMessage> {}

type Served = Readonly<{ chat: Chat; bodies: readonly string[] }>;

/** The route's answer, without a socket: the body is read as it is written. */
function useChat(stage: Stage, id = "chat-1"): Served {
  const bodies: string[] = [];
  const ports = { ...stage.ports, subscribe: stage.runtime.subscribe };
  const fetch: typeof globalThis.fetch = async (_, init) => {
    const text = String(init?.body);
    bodies.push(text);
    const tell = await openUiChat(ports, stage.caller, "clerk", JSON.parse(text));
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const sink = { write: (chunk: string) => writer.write(new TextEncoder().encode(chunk)).catch(() => {}) };
    void tell(sink, init?.signal ?? new AbortController().signal).then(() => writer.close().catch(() => {}));
    return new Response(readable, { headers: UI_STREAM_HEADERS });
  };
  const chat = new Chat({ id, state: new State(), transport: new DefaultChatTransport({ api: "http://localhost/chat", fetch }) });
  return { chat, bodies };
}

const textOf = (message: UIMessage | undefined): string =>
  message?.parts.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("|") ?? "";
const toolsOf = (message: UIMessage | undefined) => message?.parts.flatMap((p) => (p.type === "dynamic-tool" ? [p] : [])) ?? [];

test("W-26 what a person writes is a turn; its words arrive as they come, as one message", async () => {
  const { chat } = useChat(await stageOf({ steps: [reply.text("Good morning to you.", { thinking: "be kind" })] }));
  await chat.sendMessage({ text: "hello" });
  expect(chat.status).toBe("ready");
  expect(chat.error).toBeUndefined();
  expect(chat.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(textOf(chat.lastMessage)).toBe("Good morning to you.");
  expect(chat.lastMessage?.parts.find(({ type }) => type === "reasoning")).toMatchObject({ text: "be kind", state: "done" });
  expect(chat.lastMessage?.metadata).toMatchObject({ turn: 1, ending: "completed" });
});

test("W-26 calls arrive with their input and what became of them; a denied one with the reason", async () => {
  const steps = [
    reply.calls([
      { tool: "look", args: { at: "it" } },
      { tool: "erase", args: {} },
      { tool: "fall", args: {} },
    ]),
    reply.text("That is all."),
  ];
  const { chat } = useChat(await stageOf({ steps }));
  await chat.sendMessage({ text: "look, erase, fall" });
  expect(chat.error).toBeUndefined();
  expect(toolsOf(chat.lastMessage)).toMatchObject([
    { toolName: "look", state: "output-available", input: { at: "it" }, output: "seen" },
    { toolName: "erase", state: "output-error", errorText: "denied: nothing is erased here (no-erase)" },
    { toolName: "fall", state: "output-error", errorText: expect.stringContaining("it fell over") },
  ]);
  expect(textOf(chat.lastMessage)).toBe("That is all.");
});

test("W-26 the next message goes on in the same session; another chat is another one", async () => {
  const stage = await stageOf({ steps: [reply.text("one"), reply.text("two"), reply.text("three")] });
  const first = useChat(stage, "chat-1");
  await first.chat.sendMessage({ text: "a" });
  await first.chat.sendMessage({ text: "b" });
  const second = useChat(stage, "chat-2");
  await second.chat.sendMessage({ text: "c" });
  expect(first.chat.messages.map(textOf)).toEqual(["a", "one", "b", "two"]);
  expect((await stage.runtime.sessions.list()).map(({ turns }) => turns).sort()).toEqual([1, 2]);
});

test("W-27 the same message sent again is the same turn, told again", async () => {
  const stage = await stageOf({ steps: [reply.text("once")] });
  const { chat, bodies } = useChat(stage);
  await chat.sendMessage({ text: "a" });
  const again = useChat(stage);
  again.chat.messages = [chat.messages[0] as UIMessage];
  await again.chat.regenerate();
  expect(textOf(again.chat.lastMessage)).toBe("once");
  expect(bodies).toHaveLength(1);
  expect((await stage.runtime.sessions.list()).map(({ turns }) => turns)).toEqual([1]);
});

test("W-27 another text under the id of an earlier message is refused, and begins no turn", async () => {
  const stage = await stageOf({ steps: [reply.text("once")] });
  const { chat } = useChat(stage);
  await chat.sendMessage({ text: "a" });
  const again = useChat(stage);
  again.chat.messages = [{ ...(chat.messages[0] as UIMessage), parts: [{ type: "text", text: "b" }] }];
  await again.chat.regenerate();
  expect(again.chat.error?.message).toBe("this id was used for another request");
  expect((await stage.runtime.sessions.list()).map(({ turns }) => turns)).toEqual([1]);
});

test("W-27 a question ends the stream; the answer given in the chat is the person's own, and the stream goes on after it", async () => {
  const stage = await stageOf({ steps: [reply.calls([{ tool: "pay", args: { sum: 5 } }]), reply.text("Paid.")] });
  const { chat } = useChat(stage);
  await chat.sendMessage({ text: "pay" });
  const [asked] = toolsOf(chat.lastMessage);
  expect(asked).toMatchObject({ toolName: "pay", state: "approval-requested" });
  await chat.addToolApprovalResponse({ id: asked?.approval?.id ?? "", approved: true });
  await chat.sendMessage();
  expect(chat.error).toBeUndefined();
  expect(chat.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(toolsOf(chat.lastMessage)).toMatchObject([{ toolName: "pay", state: "output-available", output: { paid: 5 } }]);
  expect(textOf(chat.lastMessage)).toBe("Paid.");
  const [{ session } = { session: null }] = await stage.runtime.sessions.list();
  if (session === null) throw new Error("there is no session");
  const entries = [];
  for await (const entry of stage.runtime.inspect.events(session)) entries.push(entry);
  expect(entries.find(({ event }) => event.kind === "approval.answered")?.event).toMatchObject({ by: { kind: "user", id: "ann" } });
});

test.each([
  ["with a reason", "too much", "too much"],
  ["without a word", undefined, "no reason was given in the chat"],
])(
  "W-27 a no given in the chat, %s, is the call's outcome there, and the same again when it is sent again",
  async (_, given, journalled) => {
    const stage = await stageOf({ steps: [reply.calls([{ tool: "pay", args: { sum: 5 } }]), reply.text("Not paid.")] });
    const { chat } = useChat(stage);
    await chat.sendMessage({ text: "pay" });
    const [asked] = toolsOf(chat.lastMessage);
    await chat.addToolApprovalResponse({
      id: asked?.approval?.id ?? "",
      approved: false,
      ...(given === undefined ? {} : { reason: given }),
    });
    const before = structuredClone(chat.messages);
    await chat.sendMessage();
    expect(chat.error).toBeUndefined();
    expect(toolsOf(chat.lastMessage)).toMatchObject([{ toolName: "pay", state: "output-denied", approval: { approved: false } }]);
    expect(textOf(chat.lastMessage)).toBe("Not paid.");
    chat.messages = before; // the connection broke: the client sends the same once more
    await chat.sendMessage();
    expect(toolsOf(chat.lastMessage)).toMatchObject([{ state: "output-denied" }]);
    const [{ session } = { session: null }] = await stage.runtime.sessions.list();
    if (session === null) throw new Error("there is no session");
    const answers = [];
    for await (const { event } of stage.runtime.inspect.events(session)) if (event.kind === "approval.answered") answers.push(event.answer);
    expect(answers).toEqual([{ kind: "deny", reason: journalled }]);
  },
);

test.each(["deny", "withdraw", "expire"] as const)(
  "W-27 a request that was settled elsewhere (%s) is told as denied to a chat that joins again",
  async (how) => {
    const stage = await stageOf({
      steps: [reply.calls([{ tool: "pay", args: { sum: 5 } }]), reply.text("Not paid.")],
      ...(how === "expire"
        ? {
            rows: [
              { id: "ask", action: "tool:pay", verdict: "ask", terms: { expiresMs: 1 } },
              { id: "all", action: "*", verdict: "allow" },
            ],
          }
        : {}),
    });
    const { chat } = useChat(stage);
    await chat.sendMessage({ text: "pay" });
    if (how === "expire") {
      const [waiting] = await stage.runtime.sessions.list();
      if (waiting?.state === "waiting") await stage.runtime.resume(waiting.session).result; // its time is up by now
    } else {
      expect(toolsOf(chat.lastMessage)).toMatchObject([{ state: "approval-requested" }]);
      const [question] = await stage.runtime.approvals.list();
      if (question === undefined) throw new Error("nothing is asked");
      const { approval, digest } = question;
      await stage.runtime.approvals.answer({ approval, digest, answer: { kind: how, reason: "elsewhere" } }, stage.caller.person);
    }
    chat.messages = chat.messages.slice(0, 1);
    await chat.sendMessage();
    expect(chat.error).toBeUndefined();
    expect(toolsOf(chat.lastMessage)).toMatchObject([{ toolName: "pay", state: "output-denied" }]);
    expect(textOf(chat.lastMessage)).toBe("Not paid.");
  },
);

test("W-27 an answer to anything but what was shown is refused", async () => {
  const stage = await stageOf({ steps: [reply.calls([{ tool: "pay", args: {} }]), reply.text("no")] });
  const { chat } = useChat(stage);
  await chat.sendMessage({ text: "pay" });
  const [asked] = toolsOf(chat.lastMessage);
  const forged = (asked?.approval?.id ?? "").replace(/@.*/, `@${"0".repeat(64)}`);
  const assistant = chat.lastMessage as UIMessage;
  chat.messages = [
    chat.messages[0] as UIMessage,
    {
      ...assistant,
      parts: assistant.parts.map((p) =>
        p.type === "dynamic-tool" ? ({ ...p, state: "approval-responded", approval: { id: forged, approved: true } } as typeof p) : p,
      ),
    },
  ];
  await chat.sendMessage();
  expect(chat.error?.message).toContain("bound to another action");
});

test("W-26 a turn that stops early says so, and a failed one is an error of the chat", async () => {
  const stopped = useChat(await stageOf({ steps: [reply.calls([{ tool: "look", args: {} }])], limits: { iterations: 1 } }));
  await stopped.chat.sendMessage({ text: "look" });
  expect(textOf(stopped.chat.lastMessage)).toBe("The turn used up its model calls.");
  expect(stopped.chat.lastMessage?.parts.find(({ type }) => type === "data-ending")).toMatchObject({
    data: { ending: "out-of-iterations" },
  });
  const failed = useChat(await stageOf({ steps: [{ kind: "failure", parts: [], detail: "no such model", again: false, broke: false }] }));
  await failed.chat.sendMessage({ text: "hello" });
  expect(failed.chat.status).toBe("error");
  expect(failed.chat.error?.message).toContain("no such model");
});

test("W-26 words of a reply that broke off are taken back", async () => {
  const steps = [
    {
      kind: "failure",
      parts: [{ kind: "text", text: "Good mor", meta: null }],
      detail: "the stream broke",
      again: true,
      broke: true,
    } as const,
    reply.text("Hello."),
  ];
  const { chat } = useChat(await stageOf({ steps }));
  await chat.sendMessage({ text: "hi" });
  expect(chat.error).toBeUndefined();
  expect(textOf(chat.lastMessage)).toBe("Hello.");
});

test("W-26 a client that stops listening stops nothing: the turn runs to its end", async () => {
  const hold = latch();
  const stage = await stageOf({ steps: [reply.calls([{ tool: "wait", args: {} }]), reply.text("done")], hold });
  const { chat } = useChat(stage);
  const sending = chat.sendMessage({ text: "wait" });
  await hold.reached;
  await chat.stop();
  await sending;
  hold.open();
  const again = useChat(stage);
  again.chat.messages = [chat.messages[0] as UIMessage];
  await again.chat.regenerate();
  expect(textOf(again.chat.lastMessage)).toBe("done");
});
