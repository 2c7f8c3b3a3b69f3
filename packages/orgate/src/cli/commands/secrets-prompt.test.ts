import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { secretStore } from "../../identity/secrets-file.ts";

/** A real terminal, made by util-linux: it shows what is typed unless the program turns that off. */
const SCRIPT = "/usr/bin/script";

test.skipIf(!existsSync(SCRIPT))(
  "T-22 at a terminal, passphrase and value are asked for, and neither is shown",
  async () => {
    const root = mkdtempSync(join(tmpdir(), "orgate-prompt-"));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    writeFileSync(join(root, "orgate.toml"), '[project]\nname = "p"\n');
    const orgate = join(import.meta.dirname, "../../../bin/orgate.js");
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const child = spawn(SCRIPT, ["-qfec", `'${process.execPath}' '${orgate}' secrets set token`, "/dev/null"], {
      cwd: root,
      env: { PATH, NODE_COMPILE_CACHE, ORGATE_HOME: join(root, "home"), TERM: "xterm" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    let seen = "";
    const answers = [
      ["a passphrase for the secrets: ", "correct horse battery\r"],
      ["the passphrase again: ", "correct horsx\u007fe battery\r"], // a slip, taken back
      ["value of token: ", "canary-value\r"],
    ] as const;
    let asked = 0;
    child.stdout.on("data", (piece: Buffer) => {
      seen += piece.toString();
      const next = answers[asked];
      if (next === undefined || !seen.endsWith(next[0])) return;
      asked += 1;
      child.stdin.write(next[1]);
    });
    const code = await new Promise((done) => child.once("close", done));
    expect([code, seen.replaceAll("\r", "")]).toEqual([
      0,
      `${answers.map(([question]) => question).join("\n")}\ntoken is set: manifests use it as {_secret:token}\n`,
    ]);
    expect([...(await secretStore(join(root, ".orgate")).open("correct horse battery"))]).toEqual([["token", "canary-value"]]);
  },
  60_000,
);
