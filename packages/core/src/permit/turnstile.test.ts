import { hash as nodeHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { SAMPLES } from "../journal/fixtures/samples.ts";
import {
  type Action,
  type ActionText,
  actionText,
  callId,
  type Digest,
  digest,
  digestJson,
  type JournalEvent,
  millis,
  type Seq,
  seq,
  type TimedEvent,
  type Verdict,
  ZERO,
} from "../vocab/index.ts";
import { type Permit, type Receipt, turnstile } from "./turnstile.ts";

const digestAction = (action: Action): Digest => digestJson(action, (text) => digest(nodeHash("sha256", text, "hex")));
const allow: Verdict = { kind: "allow", because: [], approval: null };
const deny: Verdict = { kind: "deny", by: "policy", because: [], faults: [], reason: "no" };
const id = (n: number): ActionText => actionText(`1.${n}`);

function decided(n: number, verdict: Verdict = allow, args: Record<string, string> = { path: "a" }): TimedEvent {
  const action: Action = {
    kind: "call",
    call: callId(`1.${n}`),
    tool: "t",
    toolDigest: ZERO,
    effects: [],
    args,
    inexact: [],
    resource: { type: "Tool", id: "t" },
  };
  const event: JournalEvent = {
    kind: "gate.decided",
    id: id(n),
    action,
    digest: digestAction(action),
    slice: ZERO,
    verdict,
    read: {},
    shadow: null,
  };
  return { at: millis(1), event };
}
const stile = (commit: () => Promise<Seq> = async () => seq(1)) => turnstile(commit, digestAction);
const refused = (detail: string) =>
  expect.objectContaining({ fault: expect.objectContaining({ kind: "permit-refused", detail: expect.stringContaining(detail) }) });

describe("permits at run time", () => {
  test("P-1 a durable allow yields one permit, which is redeemed for exactly what was decided", async () => {
    const pass = stile();
    const permit = pass.issuePermit(await pass.append([decided(0)]), id(0));
    expect(pass.redeem(permit)).toMatchObject({ kind: "call", call: "1.0", args: { path: "a" } });
  });

  test("P-1 no receipt when the append fails, and so no permit", async () => {
    const pass = stile(() => Promise.reject(new Error("disk full")));
    await expect(pass.append([decided(0)])).rejects.toThrow("disk full");
    expect(() => pass.issuePermit({ first: seq(1) } as Receipt, id(0))).toThrow(refused("no durable allow"));
  });

  test("P-1 a denial yields none, and a later denial takes an earlier allow away", async () => {
    const pass = stile();
    const receipt = await pass.append([decided(0, deny), decided(1)]);
    expect(() => pass.issuePermit(receipt, id(0))).toThrow(refused("no durable allow"));
    await pass.append([decided(1, deny)]);
    expect(() => pass.issuePermit(receipt, id(1))).toThrow(refused("no durable allow"));
  });

  test("P-1 a forged receipt, a copied one, one of another append and one of another turnstile are worth nothing", async () => {
    const pass = stile();
    const receipt = await pass.append([decided(0)]);
    const other = await pass.append([decided(1)]);
    const foreign = await stile().append([decided(0)]);
    for (const r of [{ ...receipt }, structuredClone(receipt), { first: seq(1) } as Receipt, other, foreign])
      expect(() => pass.issuePermit(r as Receipt, id(0))).toThrow(refused("no durable allow"));
    expect(pass.issuePermit(receipt, id(0))).toBeDefined();
  });

  test("P-2 a second permit for one decision is refused", async () => {
    const pass = stile();
    const receipt = await pass.append([decided(0)]);
    pass.issuePermit(receipt, id(0));
    expect(() => pass.issuePermit(receipt, id(0))).toThrow(refused("no durable allow"));
  });

  test("P-2 a permit is redeemed once; a cast, a copy and one of another turnstile are refused", async () => {
    const pass = stile();
    const permit = pass.issuePermit(await pass.append([decided(0)]), id(0));
    expect(() => pass.redeem({ action: id(0), decidedAt: seq(1) } as Permit)).toThrow(refused("not issued here"));
    expect(() => pass.redeem({ ...permit } as Permit)).toThrow(refused("not issued here"));
    expect(() => stile().redeem(permit)).toThrow(refused("not issued here"));
    pass.redeem(permit);
    expect(() => pass.redeem(permit)).toThrow(refused("used before"));
  });

  test("P-2 arguments changed after the decision do not reach the tool: what runs is what was decided", async () => {
    const pass = stile();
    const args = { path: "harmless" };
    const event = decided(0, allow, args);
    const permit = pass.issuePermit(await pass.append([event]), id(0));
    args.path = "/etc/passwd";
    expect(pass.redeem(permit)).toMatchObject({ args: { path: "harmless" } });
  });

  test("P-2 arguments changed between decision and append are found by the digest", async () => {
    const pass = stile();
    const args = { path: "harmless" };
    const event = decided(0, allow, args);
    args.path = "/etc/passwd";
    const permit = pass.issuePermit(await pass.append([event]), id(0));
    expect(() => pass.redeem(permit)).toThrow(refused("not what was decided"));
  });

  test("P-1 leave that is stored as part of what it allows yields the same permit, in the place of that entry", async () => {
    const written: TimedEvent[] = [];
    const pass = turnstile(async (events) => {
      written.push(...events);
      return seq(7);
    }, digestAction);
    const [started, part] = [SAMPLES["act.started"], SAMPLES["model.replied"]];
    const proposal = { kind: "call", id: callId("1.0"), wireId: "a", tool: "t", text: '{"path":"a"}', meta: null } as const;
    const at = millis(1);
    const receipt = await pass.append([
      { at, event: { ...(part[0] as Extract<JournalEvent, { kind: "model.replied" }>), parts: [proposal] } },
      decided(0),
      decided(1),
      { at, event: { ...(started[0] as Extract<JournalEvent, { kind: "act.started" }>), call: callId("1.0") } },
    ]);
    expect(written.map(({ event }) => event)).toMatchObject([
      { kind: "model.replied" },
      {
        kind: "act.started",
        decisions: [
          { id: "1.0", action: { args: "proposed" } },
          { id: "1.1", action: { args: { path: "a" } } },
        ],
      },
    ]);
    for (const n of [0, 1]) {
      const permit = pass.issuePermit(receipt, id(n));
      expect(permit.decidedAt).toBe(8);
      expect(pass.redeem(permit)).toMatchObject({ call: `1.${n}`, args: { path: "a" } });
      expect(() => pass.issuePermit(receipt, id(n))).toThrow(refused("no durable allow"));
    }
  });

  test("P-1 leave that an announcement claims to hold is neither stored nor worth anything", async () => {
    const written: TimedEvent[] = [];
    const pass = turnstile(async (events) => {
      written.push(...events);
      return seq(1);
    }, digestAction);
    const { kind: _, ...claimed } = decided(0).event as Extract<JournalEvent, { kind: "gate.decided" }>;
    const [started] = SAMPLES["act.started"];
    const receipt = await pass.append([{ at: millis(1), event: { ...started, decisions: [claimed] } as JournalEvent }]);
    expect(written).toMatchObject([{ event: { decisions: [] } }]);
    expect(() => pass.issuePermit(receipt, id(0))).toThrow(refused("no durable allow"));
  });

  test("P-2 what is redeemed cannot be changed by whoever runs it", async () => {
    const pass = stile();
    const action = pass.redeem(pass.issuePermit(await pass.append([decided(0)]), id(0)));
    expect(() => {
      if (action.kind === "call" && action.args !== null) (action.args as Record<string, string>)["path"] = "else";
    }).toThrow(TypeError);
  });
});
