import { expect, test } from "vitest";
import { logAside } from "./local-server.ts";

test("S-22 what goes wrong in a server of one's own is said in one line for a person, and nothing else is", () => {
  const said: string[] = [];
  const log = logAside((line) => said.push(line));
  log("info", "server.leaving", { driving: 1 });
  log("warn", "server.left", { landed: false });
  log("error", "session.not-driven", { session: "s_1", error: "there is no agent `gone`\u001b[31m\nnext" });
  log("error", "schedule.failed", { schedule: null, error: "x".repeat(5_000) });
  log("error", "request.failed");
  expect(said).toEqual([
    "✗ session.not-driven: there is no agent `gone`\\e[31m\\nnext (session s_1)",
    expect.stringMatching(/^✗ schedule\.failed: x{400,500}…$/),
    "✗ request.failed",
  ]);
});
