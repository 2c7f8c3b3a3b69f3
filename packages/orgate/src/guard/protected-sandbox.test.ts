// @module-tag sandbox
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sandbox } from "@orgate/toolclad/sandbox";
import { afterEach, describe, expect, test } from "vitest";
import { isDone, outputOf, program, quietly, shell, temporaryFolder } from "./fixtures/programs.ts";
import { pathGuard } from "./path-guard.ts";
import { PROTECTED } from "./protected-paths.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});
function folder(name = "sandbox"): string {
  const made = temporaryFolder(name);
  closing.push(made.remove);
  return made.path;
}

describe("what is protected", () => {
  function project() {
    const root = folder("project");
    for (const place of ["policies", "agents", "src", ".agents", ".orgate/keys"]) mkdirSync(join(root, place), { recursive: true });
    for (const file of ["policies/a.cedar", "orgate.toml", "src/main.txt", ".orgate/keys/root.key", ".env", "README.md", ".agents/note"])
      writeFileSync(join(root, file), `original ${file}`);
    for (const inner of ["src/deep", "src/other/.orgate"]) mkdirSync(join(root, inner), { recursive: true });
    for (const file of ["src/deep/.env.local", "src/other/.orgate/key"]) writeFileSync(join(root, file), `original ${file}`);
    const guard = pathGuard({ root, also: [] });
    const box = sandbox({ protection: { ...guard, hidden: [join(root, ".orgate"), join(root, ".env")] } });
    const run = (script: string, path = root) => box.run(shell(script, { cwd: path, paths: [{ path, access: "write" }] }), quietly());
    return { root, run, box };
  }

  test("T-27 with the whole project granted for writing, protected places stay as they are, those that are not there included", async () => {
    const { root, run } = project();
    const attempts = [
      ...PROTECTED.map((place) => `mkdir -p ${place} && echo x > ${place}/new || echo x > ${place}`),
      "echo x > policies/a.cedar",
      "rm -rf policies",
      "mv policies away",
      "mv src/main.txt policies/b.cedar",
      "ln policies/a.cedar src/same && echo x > src/same",
      "ln -s ../policies src/way && echo x > src/way/a.cedar",
      "mkdir -p src/n && mv src/n policies",
      "mv .agents gone",
      "chmod 777 policies",
      "sed -i s/original/changed/ orgate.toml",
    ];
    for (const attempt of attempts) {
      const ran = await run(`{ ${attempt}; } 2>&1; echo over`);
      expect(outputOf(ran)).toContain("over");
    }
    expect(readFileSync(join(root, "policies/a.cedar"), "utf8")).toBe("original policies/a.cedar");
    expect(readFileSync(join(root, "orgate.toml"), "utf8")).toBe("original orgate.toml");
    expect(readdirSync(join(root, "policies"))).toEqual(["a.cedar"]);
    for (const place of ["tools", "skills", "AGENTS.md", ".agents/skills", ".policies.next"])
      expect(existsSync(join(root, place))).toBe(false);
    expect(
      await run("echo changed > src/main.txt && echo new > src/new && echo changed > README.md && echo n > .agents/note"),
    ).toMatchObject({ code: 0 });
    expect(readFileSync(join(root, "src/new"), "utf8")).toBe("new\n");
  });

  test("T-27 keys, journal and .env are not even seen, wherever they lie, whether the project is granted for reading, for writing or by another name", async () => {
    const { root, run, box } = project();
    const link = join(folder(), "link");
    symlinkSync(root, link);
    for (const path of [root, link]) {
      for (const access of ["read", "write"] as const) {
        const ran = await box.run(
          shell("ls -A .orgate; cat .env .orgate/keys/root.key src/deep/.env.local src/other/.orgate/key; cat README.md", {
            cwd: path,
            paths: [{ path, access }],
          }),
          quietly(),
        );
        expect(outputOf(ran)).not.toContain("original .env");
        expect(outputOf(ran)).not.toContain("original .orgate");
        expect(outputOf(ran)).not.toContain("original src/");
        expect(outputOf(ran)).toContain("original README.md");
      }
    }
    expect(
      await box.run(
        program(["cat", join(root, ".orgate/keys/root.key")], { paths: [{ path: join(root, ".orgate/keys"), access: "read" }] }),
        quietly(),
      ),
    ).toMatchObject({ kind: "refused" });
    expect(outputOf(await run("cat .env"))).not.toContain("original");
  });

  test("T-27 nor where the project lies in a folder of the system, which every program sees", async () => {
    const [place = ""] = ["/usr/share/zoneinfo", "/usr/share/doc", "/usr/share"].filter((one) => existsSync(one));
    const [file = ""] = ["/usr/bin/head", "/bin/head"].filter((one) => existsSync(one));
    const look = program(["ls", "-A", place]);
    expect(outputOf(await sandbox().run(look, quietly()))).not.toBe("");
    const box = sandbox({ protection: { ...pathGuard({ root: folder("elsewhere"), also: [] }), hidden: [place, file] } });
    expect(await box.run(look, quietly())).toMatchObject({ kind: "exited", code: 0, stdout: "" });
    expect(isDone(await sandbox().run(program(["test", "-s", file]), quietly()))).toBe(true);
    expect(isDone(await box.run(program(["test", "-s", file]), quietly()))).toBe(false);
  });

  test("T-27 a protected place granted for writing, by whatever name, refuses the tool; so does a second name of a protected file", async () => {
    const { root, run } = project();
    const link = join(root, "src", "link");
    symlinkSync(join(root, "policies"), link);
    expect(await run("true", join(root, "policies"))).toMatchObject({ kind: "refused", reason: expect.stringContaining("protected") });
    expect(await run("true", link)).toMatchObject({ kind: "refused", reason: expect.stringContaining("protected") });
    linkSync(join(root, "policies/a.cedar"), join(root, "src/same"));
    expect(await run("true", join(root, "src"))).toMatchObject({ kind: "refused", reason: expect.stringContaining("another name") });
  });
});
