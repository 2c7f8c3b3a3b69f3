import { createHash, randomUUID } from "node:crypto";
import { digest, keyId, millis, type Preview, type SessionEvent, type SessionId, seq, sessionId, toUsage, writerId } from "@orgate/core";
import { manualClock, memoryStore, opened } from "@orgate/core/testing";
import { expect, test } from "vitest";
import { sealedTexts } from "../../node/sealed-text.ts";
import type { SignalEar, Signals } from "../../store/store.ts";
import { Incoming } from "./incoming.ts";
import { createTextCursor, openLiveText } from "./live-text.ts";
import { createPieces, openMessage, sealMessage } from "./messages.ts";
import { openRelay } from "./relay.ts";

const KEY = "a key of the project";
const S1 = sessionId("s_00000000001");
const hash = (text: string) => digest(createHash("sha256").update(text).digest("hex"));
const at = (attempt: number, iteration = 1) => ({ iteration, attempt, purpose: "reply" }) as const;
const asked = (attempt = 1): SessionEvent => ({
  ...{
    kind: "model.asked",
    ...at(attempt),
    model: "m/m",
    request: hash("r"),
    reserved: toUsage(1, 1),
    reservedMicros: null,
    decisions: [],
  },
});
const replied = (attempt = 1): SessionEvent => ({
  ...{ kind: "model.replied", ...at(attempt), parts: [], finish: "stop", usage: toUsage(1, 1), micros: null, model: "m/m", meta: null },
});

/** Long enough for everything that waits for nothing but the loop of events. */
async function settle(): Promise<void> {
  for (let i = 0; i < 8; i += 1) await new Promise((resume) => setImmediate(resume));
}

/** A journal that all read, and a channel on which the test may lose, repeat and refuse. */
function openGround() {
  const clock = manualClock();
  const { journal } = memoryStore({
    writer: writerId("w1"),
    key: keyId("k1"),
    hash,
    sign: (text) => hash(`signed ${text}`),
    salt: randomUUID,
  });
  const ears = new Set<SignalEar>();
  const sent: string[][] = [];
  const channel = { isLossy: false, isBroken: false };
  const signals: Signals = {
    mostBytes: 7_999,
    send: async (texts) => {
      if (channel.isBroken) throw new Error("the connection is lost");
      sent.push([...texts]);
      if (!channel.isLossy) for (const text of texts) for (const ear of [...ears]) ear.heard(text);
    },
    hear: (ear) => {
      ears.add(ear);
      ear.joined();
      return () => void ears.delete(ear);
    },
  };
  const open = () => {
    const own = openLiveText();
    const previews = openRelay(own, { signals, key: KEY, journal, clock });
    const text = (session: SessionId = S1): string | null => previews.now(session).get(session)?.text ?? null;
    return { own, ...previews, text };
  };
  /** Written by a process that drives, which hears of it at once. */
  async function write({ own }: Pick<ReturnType<typeof open>, "own">, session: SessionId, ...events: readonly SessionEvent[]) {
    const hold = await journal.take(session);
    const after = (await journal.session(session))?.seq ?? seq(0);
    await journal.append({
      stream: session,
      after,
      hold,
      events: events.map((event) => ({ at: millis(1), event })),
      consumes: [],
      unlessHalted: [],
    });
    await journal.release(hold);
    for (const entry of await journal.read(session, after, 100)) own.add({ kind: "entry", entry });
  }
  /** What is due is sent, and taken in. */
  async function pass(ms = 50): Promise<void> {
    await settle();
    clock.advance(ms);
    await settle();
  }
  return { clock, journal, sent, channel, ears, open, write, pass };
}
const say = ({ own }: Pick<ReturnType<ReturnType<typeof openGround>["open"]>, "own">, offset: number, text: string, session = S1): void =>
  own.add({ kind: "preview", session, ...at(1), preview: { part: "text", offset, text } });

async function openDriven() {
  const ground = openGround();
  const driver = ground.open();
  await ground.write(driver, S1, opened("clerk"), asked());
  return { ...ground, driver };
}

test("W-38 words come to whoever watches elsewhere, whole and in order; one that comes late gets the text so far", async () => {
  const { open, driver, pass, write, journal } = await openDriven();
  const early = open();
  early.want(S1);
  await pass();
  say(driver, 0, "Good ");
  await pass();
  expect(early.text()).toBe("Good ");
  const long = `"\u0000😀é`.repeat(3_000);
  say(driver, 5, long);
  for (let i = 0; i < 5; i += 1) await pass();
  expect(early.text()).toBe(`Good ${long}`);
  const [late, other] = [open(), open()];
  late.want(S1);
  other.want(sessionId("s_00000000002"));
  for (let i = 0; i < 5; i += 1) await pass();
  expect([late.text(), early.text()]).toEqual([`Good ${long}`, `Good ${long}`]);
  driver.own.add({ kind: "preview", session: S1, ...at(1), preview: { part: "call", call: 0, tool: "t", offset: 0, text: "{" } });
  await pass();
  expect(late.now(S1).get(S1)).toMatchObject({ asked: 2, calls: [{ tool: "t", text: "{" }] });

  await write(driver, S1, replied());
  for (const entry of await journal.read(S1, seq(0), 100)) early.passed(entry); // from the first on, as a reader does that begins there
  expect([early.text(), driver.text(), other.text()]).toEqual([null, null, null]);
  await write(driver, S1, asked(2));
  say(driver, 0, "More");
  await pass();
  for (const entry of await journal.read(S1, seq(0), 100)) early.passed(entry); // another reader, while a later reply is in progress
  expect([early.text(), late.text(), other.text()]).toEqual(["More", "More", null]);
});

test("W-38 nothing is sent while nobody watches, nor once who watched is gone; who watches says so again", async () => {
  const { open, driver, pass, sent, channel, ears, clock } = await openDriven();
  await pass();
  const before = sent.length;
  say(driver, 0, "a");
  await pass();
  expect(sent.length).toBe(before);
  const client = open();
  const noMore = client.want(S1);
  for (let i = 0; i < 8; i += 1) await pass(5_000);
  say(driver, 1, "b");
  await pass();
  expect(client.text()).toBe("ab"); // longer than one announcement counts
  noMore();
  expect(client.text()).toBe(null);
  await pass(5_000);
  await pass(5_000);
  const quiet = sent.length;
  expect(clock.sleepers()).toBe(0);
  say(driver, 2, "c");
  await pass();
  expect(sent.length).toBe(quiet);

  client.want(null);
  await pass();
  expect(client.text()).toBe("abc");
  const [mine] = [...ears];
  for (const ear of [...ears]) if (ear !== mine) ears.delete(ear); // killed: nobody takes back what it has said
  client.close();
  channel.isLossy = true;
  for (let i = 0; i < 3; i += 1) await pass(5_000);
  const last = sent.length;
  say(driver, 3, "d");
  await pass();
  expect(sent.length).toBe(last);
});

test("W-38 what was lost is asked for, and nothing is made up in between", async () => {
  const { open, driver, pass, channel } = await openDriven();
  const client = open();
  client.want(S1);
  say(driver, 0, "one ");
  await pass();
  channel.isLossy = true;
  say(driver, 4, "two ");
  await pass();
  channel.isLossy = false;
  expect(client.text()).toBe("one ");
  say(driver, 8, "three");
  await settle();
  expect(["one ", "one two three"]).toContain(client.text());
  for (let i = 0; i < 3; i += 1) await pass();
  expect(client.text()).toBe("one two three");
});

test("W-38 what somebody repeats after its reply is recorded, says without the key, or says of another request, is not shown", async () => {
  const { open, driver, pass, write, sent, ears, journal } = await openDriven();
  const client = open();
  client.want(S1);
  await pass();
  say(driver, 0, "spoken");
  await pass();
  expect(client.text()).toBe("spoken");
  const repeat = (): void => {
    for (const text of sent.flat()) for (const ear of [...ears]) ear.heard(text);
  };
  await write(driver, S1, replied());
  for (const entry of await journal.read(S1, seq(2), 100)) client.passed(entry);
  for (let i = 0; i < 2; i += 1) {
    repeat();
    await pass();
    expect(client.text()).toBe(null);
  }
  await write(driver, S1, asked(2));
  repeat();
  await pass();
  expect(client.text()).toBe(null);
  const words = { kind: "words", from: "x", session: S1, ...at(1), preview: { part: "text", offset: 0, text: "forged" } } as const;
  const tell = (key: string, place: number): void => {
    const text = sealMessage(sealedTexts(key, "previews"), { ...words, asked: seq(place) }, 7_999);
    for (const ear of [...ears]) ear.heard(text ?? "");
  };
  tell("another key", 4);
  for (const ear of [...ears]) ear.heard(JSON.stringify({ ...words, asked: 4 }));
  tell(KEY, 1); // the opening of the session
  tell(KEY, 3); // a reply
  tell(KEY, 99);
  for (const ear of [...ears]) ear.heard("words");
  await pass();
  expect(client.text()).toBe(null);
  tell(KEY, 4);
  await pass();
  expect(client.text()).toBe("forged");
});

test("W-38 a process sends at most sixteen pieces every 50 ms, of all that speak in turn, and a channel that fails holds up nobody", async () => {
  const { open, driver, pass, write, sent, channel, clock } = await openDriven();
  const client = open();
  client.want(null);
  await pass();
  await pass();
  const sessions = Array.from({ length: 40 }, (_, i) => sessionId(`s_${String(i + 10).padStart(11, "0")}`));
  for (const one of sessions) await write(driver, one, opened("clerk"), asked());
  const before = sent.length;
  for (let i = 0; i < 5; i += 1) for (const one of sessions) say(driver, i, "x", one);
  await settle();
  expect(sent.slice(before).map((texts) => texts.length)).toEqual([1]);
  for (let i = 0; i < 4; i += 1) await pass();
  expect(sent.slice(before).map((texts) => texts.length)).toEqual([1, 16, 16, 8]);
  expect(new Set(sessions.map((one) => client.text(one)))).toEqual(new Set(["xxxxx"]));
  channel.isBroken = true;
  say(driver, 0, "not heard");
  await pass();
  expect(driver.text()).toBe("not heard");
  channel.isBroken = false;
  say(driver, 9, "!");
  for (let i = 0; i < 3; i += 1) await pass();
  expect(client.text()).toBe("not heard!");
  driver.close();
  client.close();
  await settle();
  expect(clock.sleepers()).toBe(0);
});

test("W-38 what is kept of others' words is bounded: what is over it is not shown", async () => {
  const { journal, clock } = await openDriven();
  const far = openLiveText();
  const incoming = new Incoming({ far, journal, clock, isWanted: () => true, ask: () => {} }, 10);
  const hear = (offset: number, text: string): void =>
    incoming.hear({ session: S1, asked: seq(2), ...at(1), preview: { part: "text", offset, text } });
  hear(0, "12345");
  await settle();
  expect(far.chars()).toBe(5);
  hear(5, "678901");
  hear(0, "1");
  await settle();
  expect([far.chars(), far.now(null).size]).toEqual([0, 0]);
});

test("W-38 every text is cut into pieces that fit into a notification, and joins to what it was", () => {
  const sealed = sealedTexts(KEY, "previews");
  for (const unit of ["a", '"', "\u0001", "é", "語", "😀", "\ud800", "\\\n"]) {
    const text = unit.repeat(9_000);
    const pieces = createPieces(seq(7));
    const spoken = { asked: seq(7), ...at(1), text, thinking: "", calls: [] };
    let joined = "";
    for (let one: Preview | null = pieces.next(spoken); one !== null; one = pieces.next(spoken)) {
      const message = {
        kind: "words",
        from: randomUUID(),
        session: S1,
        asked: seq(7),
        ...{ iteration: 1, attempt: 1 },
        preview: one,
      } as const;
      const sent = sealMessage(sealed, message, 7_999);
      expect(openMessage(sealed, sent ?? "")).toEqual(message);
      expect(one.offset).toBe(joined.length);
      joined += one.text;
    }
    expect(joined === text).toBe(true);
  }
});

test("H-12 a slow reader gets the words of the next turn from their beginning, though they have the same iteration", () => {
  const ear = openLiveText();
  const fresh = createTextCursor();
  const entry = (event: SessionEvent, place: number) =>
    ear.add({ kind: "entry", entry: { stream: S1, seq: seq(place), at: millis(1), event } });
  const speak = (text: string) => ear.add({ kind: "preview", session: S1, ...at(1), preview: { part: "text", offset: 0, text } });
  entry(asked(), 5);
  speak("a first reply");
  expect(fresh(ear.now(null))).toMatchObject([{ asked: 5, preview: { offset: 0, text: "a first reply" } }]);
  entry(replied(), 6);
  entry(asked(), 9);
  speak("another");
  expect(fresh(ear.now(null))).toMatchObject([{ asked: 9, preview: { offset: 0, text: "another" } }]);
});
