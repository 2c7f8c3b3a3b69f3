import { describe, expect, test } from "vitest";
import { defineMiddleware } from "../../agents/define-middleware.ts";
import type { Model, ModelRequest } from "../../reason/port.ts";
import { SUMMARY_SYSTEM } from "../../reason/summary.ts";
import { reply, type World } from "../../testing/index.ts";
import {
  type Attachment,
  checkAttachments,
  type HistoryMessage,
  isFault,
  type RequestMessage,
  toCanonicalJson,
} from "../../vocab/index.ts";
import { ANN, call, REST, refusals, stage, toolOf } from "../fixtures/stage.ts";
import { createSession, forkSession } from "../session/sessions.ts";
import { checkHistory } from "./history.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** Longer than what the journal keeps in an entry. */
const BIG = `${PNG.slice(0, 92)}${"QUJD".repeat(350_000)}`;
const image = (name: string, base64 = PNG): Attachment => ({ kind: "image", mediaType: "image/png", name, base64 });
const [NOTES] = checkAttachments([{ mediaType: "text/plain", name: "notes.txt", text: "the door is green" }]);
if (NOTES === undefined) throw new Error("one file");

const echo = toolOf("echo", ({ x }) => `echo ${x}`, { repeat: "read" });
const filesOf = (messages: readonly { readonly role: string; readonly files?: readonly Attachment[] }[]) =>
  messages.flatMap((m) => (m.role === "user" ? [(m.files ?? []).map((f) => f.name)] : []));
const namesIn = (request: ModelRequest | undefined) => filesOf(request?.messages ?? []);
const blobs = (w: World) => [...w.disk.blobs.values()];

describe("what a person says with files", () => {
  test("M-21 the task, what steers it and what follows it each show theirs, in every request from then on", async () => {
    const { w, model } = stage([reply.calls([call("echo")]), reply.text("one"), reply.text("two")], REST, {
      files: [image("a.png")],
      tools: [
        toolOf("echo", async ({ x }) => {
          await w.wish({ kind: "steer", text: "and this", files: [image("b.png"), NOTES] });
          await w.wish({ kind: "follow-up", text: "then that", files: [image("c.png")] });
          return x;
        }),
      ],
    });
    await w.run("look");
    expect(w.state().last).toMatchObject({ turn: 2, ending: "completed", output: "two" });
    expect(model.asked.map(namesIn)).toEqual([
      [["a.png"]],
      [["a.png"], ["b.png", "notes.txt"]],
      [["a.png"], ["b.png", "notes.txt"], ["c.png"]],
    ]);
    expect(w.events("turn.started").map((e) => e.files)).toEqual([[image("a.png")], [image("c.png")]]);
    expect(w.events("input.queued")[0]?.files).toEqual(w.events("turn.started")[1]?.files);
  });

  test("M-21 what is no file is refused at the inbox, whoever wrote the row, and nothing of it is heard", async () => {
    const { w, model } = stage([reply.text("one"), reply.text("two")], REST);
    await w.run("go");
    const wrong: readonly unknown[] = [
      [{ ...image("x.png"), mediaType: "image/jpeg" }],
      [{ ...image("x.png"), base64: "!" }],
      "x",
      [{ ...image("x.png"), mediaType: "image/svg+xml" }],
    ];
    for (const files of wrong) {
      await w.wish({ kind: "say", text: "look", files: files as readonly Attachment[] });
      await w.go();
    }
    expect(refusals(w)).toEqual([
      "file `x.png` cannot be part of a message: it is said to be image/jpeg, and its first bytes are those of image/png",
      "file `x.png` cannot be part of a message: its bytes are not base64",
      "a file cannot be part of a message: the files are no list",
      "file `x.png` cannot be part of a message: its media type is `image/svg+xml`",
    ]);
    expect(model.asked).toHaveLength(1);
  });

  test("M-21 bytes are kept once, in a blob, whoever refers to them; what an iteration adds does not grow with them", async () => {
    const bytesPer = async (files: readonly Attachment[]) => {
      const steps = Array.from({ length: 8 }, (_, i) => reply.calls([call("echo", String(i))]));
      const { w } = stage([...steps, reply.text("done")], REST, { files, tools: [echo] });
      await w.run("look");
      const rows = w.disk.entries.get(w.session()) ?? [];
      const first = rows.findIndex((e) => e.kind.startsWith("model.asked"));
      return { after: rows.slice(first).reduce((n, e) => n + (e.payload?.length ?? 0), 0), w };
    };
    const [plain, shown] = [await bytesPer([]), await bytesPer([image("big.png", BIG)])];
    expect(Math.abs(shown.after - plain.after)).toBeLessThan(200); // reservations have more digits
    expect(blobs(shown.w)).toEqual([BIG]);
    expect(BIG.length).toBeGreaterThan(1_000_000);
  });

  test("M-21 a follow-up is two entries, and its bytes are one blob", async () => {
    const { w } = stage([reply.calls([call("echo")]), reply.text("one"), reply.text("two")], REST, {
      files: [image("a.png", BIG)],
      tools: [
        toolOf("echo", async ({ x }) => {
          await w.wish({ kind: "follow-up", text: "then that", files: [image("c.png", BIG)] });
          return x;
        }),
      ],
    });
    await w.run("look");
    expect(w.events("turn.started").map((e) => e.files.length)).toEqual([1, 1]);
    expect(blobs(w)).toEqual([BIG]);
  });

  test("M-22 the digest of a request covers its files", async () => {
    const digestWith = async (files: readonly Attachment[]) => {
      const { w } = stage([reply.text("one")], REST, { files });
      await w.run("look");
      return w.events("model.asked")[0]?.request;
    };
    const all = [[], [image("a.png")], [image("b.png")], [image("a.png", BIG)], [{ ...image("a.png"), name: null }], [NOTES]];
    const digests = await Promise.all(all.map(digestWith));
    expect(new Set(digests).size).toBe(all.length);
    expect(await digestWith([image("a.png", BIG)])).toBe(digests[3]);
  });
});

describe("files and the context", () => {
  const words = "lorem ipsum ".repeat(60);

  test("M-22 the task keeps its images whatever the window lets go, and they count", async () => {
    const steps = Array.from({ length: 12 }, (_, i) => reply.calls([call("echo", `${i} ${words}`)]));
    const { w, model } = stage([...steps, reply.text("done")], REST, {
      files: [image("a.png")],
      tools: [echo],
      limits: { contextTokens: 1_500 },
    });
    await w.run("look");
    expect(w.state().last?.ending).toBe("completed");
    for (const request of model.asked) expect(namesIn(request)[0]).toEqual(["a.png"]);
    expect(model.asked.at(-1)?.messages.length).toBeLessThan(20); // others had to go
    expect(w.state().messages[0]?.tokens).toBeGreaterThan(258);
  });

  test("M-22 what does not fit is said before anybody is asked", async () => {
    const { w, model } = stage([], REST, { files: [image("a.png"), image("b.png")], limits: { contextTokens: 500 } });
    expect((await w.run("look")).last).toMatchObject({
      ending: "out-of-tokens",
      detail: expect.stringContaining("tokens, and contextTokens is 500"),
    });
    expect(model.asked).toEqual([]);
  });

  test("M-22 a summary is made of words: of an image its name is told, of a text what it says", async () => {
    const summaries: string[] = [];
    let calls = 0;
    const model: Model = {
      id: "own/model",
      ask: async ({ system, messages }) => {
        const isSummary = system === SUMMARY_SYSTEM;
        if (isSummary) summaries.push(toCanonicalJson(messages));
        else calls += 1;
        const acts = !isSummary && calls > 1 && calls < 9;
        const text = isSummary ? "The door is green, says notes.txt." : "I see.";
        const call = {
          kind: "call",
          id: `c${calls}`,
          tool: "echo",
          text: toCanonicalJson({ x: `${calls} ${words}` }),
          meta: null,
        } as const;
        const parts = acts ? [call] : [{ kind: "text", text, meta: null } as const];
        return { parts, finish: acts ? "calls" : "stop", usage: { input: 1, output: 1 }, model: "own/model", meta: null };
      },
    };
    const { w } = stage([], REST, {
      model,
      files: [image("a.png", BIG), NOTES],
      tools: [echo],
      context: { kind: "summarise", keep: 1, model: null },
      limits: { contextTokens: 1_600 },
    });
    await w.run("look");
    await w.wish({ kind: "say", text: "go on" });
    await w.go();
    expect(w.state().last?.ending).toBe("completed");
    const [first = ""] = summaries;
    expect(first).toContain("user's file, not shown here: a.png (image/png, 1050069 bytes)");
    expect(first).toContain("user's file notes.txt: the door is green");
    for (const request of summaries) expect(request).not.toContain("QUJDQUJD");
  });
});

describe("files that come from elsewhere", () => {
  test("M-21 an imported history shows its files, a fork takes them along, and both are checked", async () => {
    const history: readonly HistoryMessage[] = [
      { role: "user", text: "look", files: [image("a.png")] },
      { role: "assistant", text: "seen" },
      { role: "user", text: "", files: [NOTES] },
      { role: "assistant", text: "read" },
    ];
    const { w, model } = stage([reply.text("one"), reply.text("two")], REST);
    const p = w.outside();
    await w.run("start");
    const { agent } = w.state();
    const opening = { agent, principal: ANN, surface: "library", labels: [], external: null, parent: null, origin: null } as const;
    const { session } = await createSession(p, { ...opening, history });
    const fork = await forkSession(p, session, { at: null, external: null, principal: ANN, surface: "library" });
    w.turnTo(fork.session);
    await w.say("and now?");
    expect(namesIn(model.asked.at(-1))).toEqual([["a.png"], ["notes.txt"], []]);
    expect(w.state().messages[0]).toMatchObject({ files: [image("a.png")] });
    const bad: readonly HistoryMessage[] = [
      { role: "user", text: "x", files: [{ kind: "image", mediaType: "image/gif", name: null, base64: PNG }] },
    ];
    try {
      checkHistory(bad);
      expect.unreachable();
    } catch (error) {
      expect(isFault(error, "history-invalid") && error.message).toContain("message 0");
      expect(isFault(error) && error.message).toContain("its first bytes are those of image/png");
    }
  });
});

describe("files and middleware", () => {
  test("M-22 words that a failing middleware was to see are withheld with their files; the journal has both", async () => {
    const bad = defineMiddleware({
      name: "bad",
      userMessage: (text) => {
        if (text.includes("secret")) throw new Error("boom");
        return `${text}!`;
      },
    });
    const { w, model } = stage([reply.text("fine")], REST, { files: [image("secret.png")], middleware: [bad] });
    expect((await w.run("a secret")).last?.ending).toBe("failed");
    expect(w.events("turn.started")[0]?.files).toEqual([]);
    expect(w.events("middleware.applied").map((e) => e.change)).toEqual([
      { kind: "input", before: "a secret", files: [image("secret.png")] },
    ]);
    await w.wish({ kind: "say", text: "another", files: [image("b.png")] });
    await w.go();
    expect(namesIn(model.asked.at(-1))).toEqual([[], ["b.png"]]); // rewritten words keep what came with them
    expect(model.asked.at(-1)?.messages.at(-1)).toMatchObject({ text: "another!" });
  });

  test("M-22 before the model a file can be left out or put in for that one request, and only one that is accepted", async () => {
    const shown: (readonly RequestMessage[])[] = [];
    const swap = defineMiddleware({
      name: "swap",
      beforeModel: ({ messages }, { iteration }) => {
        shown.push(messages);
        if (iteration === 1) return { messages: [{ role: "user", text: "no picture" }] };
        const files = iteration === 2 ? [image("other.png")] : [{ ...image("x.png"), mediaType: "image/webp" } as Attachment];
        return { messages: messages.map((m) => (m.role === "user" ? { ...m, files } : m)) };
      },
    });
    const { w, model } = stage([reply.calls([call("echo", "1")]), reply.calls([call("echo", "2")])], REST, {
      files: [image("a.png")],
      tools: [echo],
      middleware: [swap],
    });
    const { last } = await w.run("look");
    expect(shown.map(filesOf)).toEqual([[["a.png"]], [["a.png"]], [["a.png"]]]);
    expect(model.asked.map(namesIn)).toEqual([[[]], [["other.png"]]]);
    expect(last).toMatchObject({ ending: "failed", detail: expect.stringContaining("it is said to be image/webp") });
    const [first, second] = w.events("model.asked").map((e) => e.request);
    expect(first).not.toBe(second);
  });
});
