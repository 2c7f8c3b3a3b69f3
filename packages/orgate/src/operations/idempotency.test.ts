import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FaultError, intentId } from "@orgate/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openRequestKeys } from "../store/idempotency-keys.ts";
import { deriveIntentId, deriveName, deriveSessionId, Idempotency, isDerivedName, type KeyedRequest } from "./idempotency.ts";

let folder: string;
let keys: ReturnType<typeof openRequestKeys>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "orgate-once-"));
  keys = openRequestKeys(folder);
});
afterEach(() => {
  keys.close();
  rmSync(folder, { recursive: true, force: true });
});

const request: KeyedRequest = {
  user: "ann",
  scope: { agents: null, actions: null },
  route: "say",
  key: "key-1",
  request: { text: "hello" },
};
const reply = { status: 200, value: { done: true }, isProvisional: false };

test("derived ids are those that journals contain already, for every surface", async () => {
  expect(deriveIntentId("chat", "user:ann", "coordinator", "", "an-id-of-16-characters")).toBe(
    "c-08c51776fd8e08c521225f85a254dba9df228fa3",
  );
  expect(deriveIntentId("ui", "user:ann", "clerk", "chat-1", "m-1")).toBe("u-46557e587aa1adf4087009da2c968059015cd75e");
  expect(deriveIntentId("run", "s_1/1.0")).toBe("run-17cbee0ec784baa37256f100b112a8227dd83351");
  expect(deriveIntentId("cancel", "s_1/1.0")).toBe("cancel-17cbee0ec784baa37256f100b112a8227dd83351");
  expect(deriveName("chat", "user:ann", "coordinator")).toBe("chat-61515f8ffcd25d20c1b71e47f657d5291ecb386c");
  expect(deriveName("ui", "user:ann", "clerk", "chat-1")).toBe("ui-cbb4ebc7e69c8c876647b5d50baddbaba0f41458");
  expect(deriveName("run", "s_1/1.0")).toBe("run-17cbee0ec784baa37256f100b112a8227dd83351");
  const { intent, external } = await new Promise<{ intent: string; external: string }>((resolve) => {
    void new Idempotency(keys, Date.now).run(request, async (key) => {
      resolve(key);
      return reply;
    });
  });
  expect({ intent, external }).toEqual({
    intent: "k-4f61a739ed92a2923f71fbade22a83b9ea4965df",
    external: "key-4f61a739ed92a2923f71fbade22a83b9ea4965df",
  });
  expect(deriveSessionId(intentId(intent))).toBe("s_k4f61a739ed92a2923f71fbade22a83b9ea496");
  for (const name of [external, deriveName("chat", "a"), deriveName("ui", "a"), deriveName("run", "a")])
    expect(isDerivedName(name)).toBe(true);
});

test("W-5 two requests at once under one key are one, and a request that failed may be sent again, but no other", async () => {
  const once = new Idempotency(keys, Date.now);
  let runs = 0;
  const work = async () => {
    runs += 1;
    if (runs === 1) throw new FaultError({ kind: "runtime-closed" });
    return reply;
  };
  await expect(once.run(request, work)).rejects.toThrow();
  expect(await Promise.all([once.run(request, work), once.run(request, work)])).toEqual([reply, reply]);
  expect(runs).toBe(2);
  await expect(once.run({ ...request, request: { text: "bye" } }, work)).rejects.toThrow("used for another request");
  expect(runs).toBe(2);
});

test("W-5 the same request at two servers at once gets one answer, also where one of them fails because of the other", async () => {
  const [here, there] = [new Idempotency(keys, Date.now), new Idempotency(keys, Date.now)];
  const gate = Promise.withResolvers<void>();
  const isAgain: boolean[] = [];
  const first = here.run(request, async ({ again }) => {
    isAgain.push(again);
    await gate.promise;
    return reply;
  });
  const second = there.run(request, async ({ again }) => {
    isAgain.push(again);
    gate.resolve();
    throw new FaultError({ kind: "usage", detail: "there is one already", hint: "" });
  });
  expect(await Promise.all([first, second])).toEqual([reply, reply]);
  expect(isAgain).toEqual([false, true]);

  const other = { ...request, key: "key-2" };
  const both = Promise.withResolvers<void>();
  const slow = here.run(other, async () => {
    await both.promise;
    return { ...reply, value: "mine" };
  });
  const fast = await there.run(other, async () => ({ ...reply, value: "first" }));
  both.resolve();
  expect([fast, await slow]).toMatchObject([{ value: "first" }, { value: "first" }]);

  const failing = { ...request, key: "key-3" };
  const fail = async () => {
    throw new FaultError({ kind: "runtime-closed" });
  };
  const failed = await Promise.allSettled([here.run(failing, fail), there.run(failing, fail)]);
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

test("W-5 an intent belongs to the first request that claimed it, also after a restart", async () => {
  const intent = intentId("c-1");
  expect(await new Idempotency(keys, Date.now).claim(intent, { text: "hello" })).toBe(intent);
  const restarted = new Idempotency(keys, Date.now);
  expect(await restarted.claim(intent, { text: "hello" })).toBe(intent);
  await expect(restarted.claim(intent, { text: "bye" })).rejects.toThrow("used for another request");
});

test("W-5 what another server has answered between two looks is not done once more", async () => {
  const other = new Idempotency(keys, Date.now);
  let runs = 0;
  const work = async () => {
    runs += 1;
    return reply;
  };
  const enter: typeof keys.enter = async (id, digest, now) => {
    await other.run(request, work); // from begin to end, right before this one enters
    return keys.enter(id, digest, now);
  };
  expect(await new Idempotency({ ...keys, enter }, Date.now).run(request, work)).toEqual(reply);
  expect(runs).toBe(1);
});
