import { spawn } from "node:child_process";
import { once } from "node:events";
import { linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool, listDecisions } from "@orgate/core";
import { expect, test } from "vitest";
import * as z from "zod";
import { cedarPolicies } from "../policies/policies.ts";
import { createRuntime } from "../runtime/runtime.ts";
import { ATTACKS, pathGuardContract } from "./fixtures/path-guard-contract.ts";
import { pathGuard } from "./path-guard.ts";

pathGuardContract(
  "guard",
  (root) => {
    const guard = pathGuard({ root, also: [] });
    return {
      write: async (path, text) => guard.write(path, text),
      rename: async (from, to) => guard.rename(from, to),
      remove: async (path) => guard.remove(path),
    };
  },
  { test, expect },
);

function inProject(work: (root: string) => Promise<void> | void): () => Promise<void> {
  return async () => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "orgate-guard-")));
    try {
      mkdirSync(join(root, "policies"));
      mkdirSync(join(root, "src"));
      writeFileSync(join(root, "policies/base.cedar"), "permit(principal, action, resource);");
      await work(root);
    } finally {
      rmSync(root, { recursive: true });
    }
  };
}

test.each(ATTACKS.map((attack) => [attack.name, attack] as const))(
  "T-10 %s is judged protected before anything is opened",
  (_, { path, prepare }) =>
    inProject((root) => {
      mkdirSync(join(root, "policies/cli"));
      mkdirSync(join(root, ".orgate"));
      writeFileSync(join(root, ".orgate/journal.db"), "the journal");
      prepare?.(root);
      const guard = pathGuard({ root, also: [] });
      expect(guard.judge(path).kind).toBe("protected");
      expect(guard.judge(`${root}/${path}`).kind).toBe("protected");
      expect(() => guard.makeFolder(path)).toThrow("protected");
    })(),
);

test(
  "T-10 what lies elsewhere is protected when it is named; the reason says what it is",
  inProject((root) => {
    const guard = pathGuard({ root, also: ["bots/clerk.ts", join(root, "records")] });
    expect(guard.judge("bots/clerk.ts")).toEqual({ kind: "protected", what: "bots/clerk.ts" });
    expect(guard.judge("records/journal.db")).toEqual({ kind: "protected", what: "records" });
    expect(guard.judge("bots/other.ts")).toEqual({ kind: "free", real: join(root, "bots/other.ts") });
    expect(() => guard.write("policies/base.cedar", "")).toThrow("`policies/base.cedar` is protected: policies");
  }),
);

/** A folder that is now a folder, now a link to policies/, as fast as a process can make it. */
const SWAPPER = `
const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
process.chdir(process.argv[1]);
process.stdout.write("ready");
for (;;) {
  renameSync("src/out", "src/out-before");
  symlinkSync("../policies", "src/out");
  unlinkSync("src/out");
  renameSync("src/out-before", "src/out");
}`;

test(
  "T-10 a path that another process exchanges meanwhile never leads to a policy, and nothing is left behind",
  inProject(async (root) => {
    const guard = pathGuard({ root, also: [] });
    mkdirSync(join(root, "src/out"));
    const swapper = spawn(process.execPath, ["-e", SWAPPER, root], { stdio: ["ignore", "pipe", "ignore"] });
    await once(swapper.stdout, "data");
    let written = 0;
    for (let i = 0; i < 4_000; i += 1) {
      try {
        guard.write(i % 2 === 0 ? "src/out/base.cedar" : `src/out/new-${i}.cedar`, "taken over");
        written += 1;
      } catch {
        // refused, or not there at this moment
      }
    }
    swapper.kill("SIGKILL");
    await once(swapper, "exit");
    expect(written).toBeGreaterThan(0);
    expect(readdirSync(join(root, "policies"))).toEqual(["base.cedar"]);
    expect(readFileSync(join(root, "policies/base.cedar"), "utf8")).toBe("permit(principal, action, resource);");
  }),
);

test(
  "T-10 a file is replaced, appended to, renamed and removed where it is free, and only there",
  inProject((root) => {
    const guard = pathGuard({ root, also: [] });
    guard.makeFolder("src/a/b");
    guard.write("src/a/b/x.txt", "a longer text");
    guard.write("src/a/b/x.txt", "short");
    guard.append("src/a/b/x.txt", ", and more");
    expect(readFileSync(join(root, "src/a/b/x.txt"), "utf8")).toBe("short, and more");
    guard.rename("src/a/b/x.txt", "src/y.txt");
    expect(readFileSync(join(root, "src/y.txt"), "utf8")).toBe("short, and more");
    guard.remove("src/y.txt");
    expect(() => readFileSync(join(root, "src/y.txt"))).toThrow("ENOENT");
    expect(() => guard.makeFolder("policies/api")).toThrow("protected");
    expect(() => guard.rename("policies", "old-policies")).toThrow("protected");
    expect(() => guard.remove("orgate.toml")).toThrow("protected");
  }),
);

test(
  "T-10 under a policy that permits everything, an agent's own file tool cannot edit a policy",
  inProject(async (root) => {
    const guard = pathGuard({ root, also: [] });
    const writeFile = defineTool({
      name: "write_file",
      description: "Writes a file.",
      input: z.strictObject({ path: z.string(), text: z.string() }),
      effects: ["write"],
      resource: ({ path }) => ({ type: "File", id: path }),
      resourceTypes: ["File"],
      run({ path, text }) {
        guard.write(path, text);
        return "written";
      },
    });
    const call = (path: string) => ({ tool: "write_file", args: { path, text: "permit(principal, action, resource);" } });
    const rules = [
      {
        when: { says: "take over" },
        calls: [call("policies/base.cedar"), call("policies/cli.cedar"), call("src/../.orgate/x"), call("src/fine.txt")],
      },
      { when: { called: ["write_file"] }, say: "done" },
    ];
    const agent = defineAgent({
      name: "worker",
      instructions: "Write.",
      model: "offline/worker",
      tools: [writeFile],
      modelOptions: { rules },
    });
    const before = readFileSync(join(root, "policies/base.cedar"), "utf8");
    const gate = cedarPolicies({ directory: join(root, "policies"), agents: [agent] });
    const runtime = await createRuntime({
      directory: join(root, ".orgate"),
      agents: [agent],
      gate,
      principal: { kind: "user", id: "ana" },
      powerCut: "lose-last-moments",
    });
    try {
      const { events } = await runtime.complete("worker", "take over");
      const allowed = listDecisions(events).filter(({ event: e }) => e.action.kind === "call" && e.verdict.kind === "allow");
      expect(allowed).toHaveLength(4); // the policy permits all of it
      const outcomes = events.flatMap(({ event: e }) => (e.kind === "act.ended" ? [e.outcome.kind] : []));
      expect(outcomes.sort()).toEqual(["done", "failed", "failed", "failed"]);
    } finally {
      await runtime.close();
    }
    expect(readFileSync(join(root, "policies/base.cedar"), "utf8")).toBe(before);
    expect(readFileSync(join(root, "src/fine.txt"), "utf8")).toContain("permit");
  }),
);

test(
  "a survey says of every path what a look of its own says, and looks at what is protected once for all of them",
  inProject((root) => {
    const guard = pathGuard({ root, also: ["elsewhere/journal"] });
    mkdirSync(join(root, "elsewhere/journal"), { recursive: true });
    mkdirSync(join(root, "policies/deep"), { recursive: true });
    writeFileSync(join(root, "policies/deep/p.cedar"), "");
    writeFileSync(join(root, "free.txt"), "");
    linkSync(join(root, "policies/deep/p.cedar"), join(root, "src/other-name"));
    symlinkSync(join(root, "policies"), join(root, "src/way"));
    symlinkSync(join(root, "free.txt"), join(root, "policies/linked.cedar"));
    const judged = guard.survey();
    const paths = [
      "src/a",
      "src/other-name",
      "src/way/x",
      "free.txt",
      "POLICIES/x",
      "policies. /x",
      "src/../policies",
      "elsewhere/journal/db",
      "elsewhere",
      "",
      "a/b/c",
    ];
    for (const path of paths) expect([path, judged(path)]).toEqual([path, guard.judge(path)]);
    expect(paths.filter((path) => judged(path).kind === "free")).toEqual(["src/a", "elsewhere", "a/b/c"]);
    writeFileSync(join(root, "late.txt"), "");
    symlinkSync(join(root, "late.txt"), join(root, "policies/late.cedar")); // protected from now on
    expect([guard.judge("late.txt").kind, judged("late.txt").kind]).toEqual(["protected", "free"]);
  }),
);
