import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

/** A real terminal, made by util-linux. */
const SCRIPT = "/usr/bin/script";

test.skipIf(!existsSync(SCRIPT))(
  "A-13 Ctrl-C at a question of `init` and of `secrets set` makes nothing, exits 130, and leaves the terminal as it was",
  async () => {
    const root = mkdtempSync(join(tmpdir(), "orgate-left-"));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    writeFileSync(join(root, "orgate.toml"), '[project]\nname = "p"\n');
    const orgate = `'${process.execPath}' '${join(import.meta.dirname, "../../../bin/orgate.js")}'`;
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const tell = 'echo "exit $?"; test "$(stty -g)" = "$before" && echo restored';
    const child = spawn(
      SCRIPT,
      ["-qfec", `before=$(stty -g); ${orgate} init new; ${tell}; ${orgate} secrets set token; ${tell}`, "/dev/null"],
      {
        cwd: root,
        env: { PATH, NODE_COMPILE_CACHE, ORGATE_HOME: join(root, "home"), TERM: "xterm" },
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    let seen = "";
    const questions = ["[y/N] ", "a passphrase for the secrets: "];
    child.stdout.on("data", (piece: Buffer) => {
      seen += piece.toString();
      const [next] = questions;
      if (next === undefined || !seen.includes(next)) return;
      questions.shift();
      child.stdin.write(next.startsWith("[") ? "y\u0003" : "half of i\u0003");
    });
    await new Promise((done) => child.once("close", done));
    expect(seen.match(/exit \d+|restored|nothing was \w+|defect/g)).toEqual([
      "nothing was made",
      "exit 130",
      "restored",
      "nothing was done",
      "exit 130",
      "restored",
    ]);
    expect(readdirSync(root)).toEqual(["orgate.toml"]);
  },
  60_000,
);
