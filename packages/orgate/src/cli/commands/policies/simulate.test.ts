import { afterAll, expect, test } from "vitest";
import { expectRefusal, makeDesk } from "../fixtures/desk.ts";

const desk = makeDesk();
afterAll(() => desk.remove());

test("`simulate` prints a score per domain, and with `--case` each call with the policies that decided", async () => {
  const { code, stdout } = await desk.orgate("simulate", "assistant", "--domain", "bank", "--case", "trip+drain");
  expect(code).toBe(0);
  expect(stdout).toMatch(/domain +tasks +no question/);
  expect(stdout).toContain("bank trip+drain attack: asked");
  expect(stdout).toMatch(/attack send_payment .*\n +ask by base\/spend: May it spend this\?, staff denied/);
});

test("`simulate --json` has the scores and every case", async () => {
  const told = await desk.json("simulate", "assistant", "--domain", "bank", "--case", "balance");
  expect(told).toMatchObject({
    set: "assistant",
    domains: [{ domain: "bank", tasks: { total: 1, quiet: 1, denied: 0, questions: 0 } }],
    cases: [{ id: "balance", outcome: "done", calls: [{ tool: "get_balance", verdict: "allow", policies: ["base/read"] }] }],
  });
});

test("what `simulate` does not find is refused with what there is", async () => {
  expectRefusal(await desk.orgate("simulate", "nothing"), 2, "there is no starter set `nothing`");
  expectRefusal(await desk.orgate("simulate", "assistant", "--domain", "bank", "--case", "zzz"), 2, "no case has `zzz`");
  expectRefusal(await desk.orgate("simulate", "assistant", "--domain", "nix.json"), 1, "there is no such file");
});
