/** Contract suite for inbox adapters. Consumption belongs to the journal's transaction and is in its contract (I-2). */
import { type Intent, intentId, millis, type SessionId } from "../vocab/index.ts";
import { type MakeStore, type Runner, S1, S2, type StoreUnderTest } from "./journal-contract.ts";

const steer = (id: string, session: SessionId, text: string): Intent => ({
  id: intentId(id),
  session,
  at: millis(5),
  by: { kind: "user", id: "ana" },
  key: null,
  wish: { kind: "steer", text },
  signature: null,
});

export function inboxContract(name: string, make: MakeStore, { test, expect }: Runner): void {
  const rule = (sentence: string, body: (store: StoreUnderTest) => Promise<void>): void =>
    test(`${sentence} [${name}]`, async () => {
      const store = await make();
      try {
        await body(store);
      } finally {
        await store.dispose();
      }
    });

  rule("I-1 the same intent id twice is one intent: the first, whoever sent it", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    expect(await a.inbox.state(intentId("i1"))).toBe("absent");
    expect(await a.inbox.put(steer("i1", S1, "left"))).toBe("new");
    expect(await b.inbox.put(steer("i1", S1, "right"))).toBe("known");
    expect(await a.inbox.put(steer("i1", S2, "elsewhere"))).toBe("known");
    expect((await b.inbox.pending(S1)).map((i) => i.intent)).toEqual([steer("i1", S1, "left")]);
    expect(await b.inbox.pending(S2)).toEqual([]);
    expect(await b.inbox.state(intentId("i1"))).toBe("pending");
  });

  rule("I-1 intents are pending in order of arrival, session by session, for whoever opens the inbox next", async (store) => {
    const a = await store.open();
    for (const id of ["z", "a", "m"]) await a.inbox.put(steer(id, S1, id));
    await a.inbox.put(steer("other", S2, "other"));
    await a.die();
    const b = await store.open();
    expect((await b.inbox.pending(S1)).map((i) => i.intent.id)).toEqual(["z", "a", "m"]);
    expect((await b.inbox.pending(S2)).map((i) => i.intent.id)).toEqual(["other"]);
  });

  rule("I-1 a watcher hears of what its own process and others put for its session, until it stops", async (store) => {
    const [a, b] = [await store.open(), await store.open()];
    let heard = 0;
    let wake: () => void = () => undefined;
    const next = (): Promise<void> =>
      new Promise((done) => {
        wake = done;
      });
    const stop = a.inbox.watch(S1, () => {
      heard += 1;
      wake();
    });
    const stopOther = a.inbox.watch(S2, () => wake());
    const own = next();
    await a.inbox.put(steer("i1", S1, "own"));
    await own;
    const others = next();
    await b.inbox.put(steer("i2", S1, "of another process"));
    await others;
    stop();
    const before = heard;
    const later = next();
    await b.inbox.put(steer("i3", S1, "nobody watches this session any more"));
    await b.inbox.put(steer("i4", S2, "heard by the other"));
    await later;
    stopOther();
    expect(heard).toBe(before);
  });
}
