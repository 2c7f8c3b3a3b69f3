import { describe, expect, test } from "vitest";
import { checkRooms, findingsIn, type Manifests } from "./check-rooms.ts";
import { temporaryTree } from "./fixtures/temporary-tree.ts";

const manifests: Manifests = {
  "": { name: "orgate-repository", devDependencies: { vitest: "5.1.0", "fast-check": "4.10.2" } },
  "packages/core": {
    name: "@orgate/core",
    exports: { ".": "", "./vocab": "", "./journal": "", "./loop": "", "./testing": "" },
    dependencies: { zod: "4.6.7" },
    peerDependencies: { "fast-check": "4.10.2" },
  },
  "packages/protocol": {
    name: "@orgate/protocol",
    exports: { ".": "", "./view": "", "./testing": "" },
    dependencies: { "@orgate/core": "0.1.0", zod: "4.6.7" },
  },
  "packages/shell": { name: "@orgate/shell", exports: { ".": "" }, dependencies: { "@orgate/core": "0.1.0", "@orgate/protocol": "0.1.0" } },
  "packages/symbi": { name: "@orgate/symbi", exports: { ".": "" }, dependencies: { "@orgate/core": "0.1.0" } },
  "packages/orgate": { name: "orgate", exports: { ".": "" }, dependencies: { "@orgate/core": "0.1.0", "smol-toml": "1.9.1" } },
  "packages/console": {
    name: "@orgate/console",
    exports: { ".": "" },
    dependencies: { "@orgate/core": "0.1.0", "@orgate/protocol": "0.1.0", orgate: "0.1.0", react: "19.3.1" },
  },
  examples: { name: "@orgate/examples", dependencies: { "@orgate/core": "0.1.0", orgate: "0.1.0", "@orgate/console": "0.1.0" } },
  bench: { name: "@orgate/bench", dependencies: { "@orgate/core": "0.1.0", orgate: "0.1.0" } },
  "bench/peers": { name: "peers", dependencies: { langgraph: "1.0.0" } },
  e2e: { name: "@orgate/e2e", dependencies: { "@orgate/core": "0.1.0", orgate: "0.1.0" } },
};
const objections = (file: string, source: string) => findingsIn(file, source, manifests).map((finding) => finding.message);
const core = (path: string) => `packages/core/src/${path}`;
const host = (path: string) => `packages/orgate/src/${path}`;

describe("the rooms of core", () => {
  const phases = ["reason", "gate", "observe", "journal", "inbox", "agents", "knowledge", "permit", "act"];

  test.each([...phases, "loop"])("R-1 vocab may not import %s", (room) => {
    expect(objections(core("vocab/a.ts"), `import { a } from "../${room}/index.ts";`)).toEqual([
      `room \`vocab\` may not import \`${room}\``,
    ]);
  });

  test.each(phases)("R-1 %s imports vocab, and neither a sibling nor the loop, not even by type", (room) => {
    expect(objections(core(`${room}/a.ts`), 'import { a } from "../vocab/index.ts"; import "./b.ts";')).toEqual([]);
    for (const sibling of phases.filter((other) => other !== room && !(room === "act" && other === "permit"))) {
      const objection = [`room \`${room}\` may not import \`${sibling}\``];
      expect(objections(core(`${room}/a.ts`), `import { a } from "../${sibling}/port.ts";`)).toEqual(objection);
      expect(objections(core(`${room}/a.ts`), `import type { A } from "../${sibling}/port.ts";`)).toEqual(objection);
    }
    expect(objections(core(`${room}/a.ts`), 'export * from "../loop/index.ts";')).toEqual([`room \`${room}\` may not import \`loop\``]);
    expect(objections(core(`${room}/a.ts`), 'const a = await import("../index.ts");')).toEqual([
      `room \`${room}\` may not import core's front door`,
    ]);
  });

  test.each([...phases, "vocab"])("R-1 the loop and the front door may import %s", (room) => {
    expect(objections(core("loop/next.ts"), `import { a } from "../${room}/a.ts";`)).toEqual([]);
    expect(objections(core("index.ts"), `export * from "./${room}/index.ts";`)).toEqual([]);
  });

  test("R-1 act may import types of permit, and no more", () => {
    expect(objections(core("act/run.ts"), 'import type { Permit } from "../permit/turnstile.ts";')).toEqual([]);
    expect(objections(core("act/run.ts"), 'import { a } from "../permit/index.ts";')).toEqual([
      "room `act` may import types of `permit` only",
    ]);
  });

  test("R-1 a room that the table does not know is found, on either side", () => {
    expect(objections(core("attic/a.ts"), 'import { a } from "../vocab/index.ts";')).toHaveLength(1);
    expect(objections(core("loop/next.ts"), 'import { a } from "../attic/a.ts";')).toHaveLength(1);
  });

  test("R-1 core names no node: module and computes no import; its tests may", () => {
    expect(objections(core("gate/a.ts"), 'import { readFileSync } from "node:fs";')).toEqual([
      "core runs anywhere: `node:` modules arrive through ports",
    ]);
    expect(objections(core("gate/a.ts"), "await import(name);")).toHaveLength(1);
    expect(objections(core("gate/a.test.ts"), 'import { readFileSync } from "node:fs"; await import(name);')).toEqual([]);
  });

  test("R-1 core may not go around its rooms by its own name, nor out of its folder", () => {
    expect(objections(core("gate/a.ts"), 'import { a } from "@orgate/core/loop";')).toHaveLength(1);
    expect(objections(core("gate/a.ts"), 'import { a } from "../../../orgate/src/a.ts";')).toHaveLength(1);
  });

  test("R-1 code that ships imports no test", () => {
    expect(objections(core("gate/a.ts"), 'import { a } from "./b.test.ts";')).toHaveLength(1);
    expect(objections(host("a.ts"), 'import { a } from "./b.test.ts";')).toHaveLength(1);
  });
});

describe("the turnstile and the testing kit", () => {
  const turnstile = (path: string) => `import { turnstile } from "${path}";`;

  test("R-1 the driver and the tests of core may import the turnstile", () => {
    expect(objections(core("loop/commit.ts"), turnstile("../permit/turnstile.ts"))).toEqual([]);
    expect(objections(core("permit/turnstile.test.ts"), turnstile("./turnstile.ts"))).toEqual([]);
    expect(objections(core("act/run.test.ts"), turnstile("../permit/turnstile.ts"))).toEqual([]);
  });

  test.each([
    ["loop/next.ts", turnstile("../permit/turnstile.ts")],
    ["loop/drive.ts", turnstile("../permit/turnstile.ts")],
    ["loop/commit-all.ts", turnstile("../permit/turnstile.ts")],
    ["permit/index.ts", 'export * from "./turnstile.ts";'],
    ["act/run.ts", turnstile("../permit/turnstile.ts")],
    ["testing/world.ts", turnstile("../permit/turnstile.ts")],
    ["index.ts", 'export { turnstile } from "./permit/turnstile.ts";'],
    ["loop/resume.ts", 'const { turnstile } = await import("../permit/turnstile.ts");'],
    ["loop/next.ts", 'import { type Permit, turnstile } from "../permit/turnstile.ts";'],
  ])("R-1 %s may not import the turnstile: %s", (file, source) => {
    expect(objections(core(file), source)).toEqual(["the turnstile is imported by `loop/commit.ts` alone"]);
  });

  test("R-1 testing may import all of core", () => {
    expect(objections(core("testing/world.ts"), 'import { a } from "../loop/drive.ts"; import { b } from "../index.ts";')).toEqual([]);
  });

  test.each([
    [core("loop/next.ts"), "../testing/index.ts"],
    [core("index.ts"), "./testing/index.ts"],
    [host("compose.ts"), "@orgate/core/testing"],
    [host("models/offline/model.ts"), "@orgate/core/testing"],
  ])("R-1 %s may not import testing", (file, specifier) => {
    expect(objections(file, `import { a } from "${specifier}";`)).toEqual(["`testing` is for tests, e2e, bench and examples"]);
  });

  test.each([core("loop/next.test.ts"), host("a.test.ts"), "e2e/src/run.ts", "bench/src/run.ts", "examples/src/01-minimal.ts"])(
    "R-1 %s may import testing",
    (file) => {
      expect(
        objections(file, `import { a } from "${file.startsWith("packages/core") ? "../testing/index.ts" : "@orgate/core/testing"}";`),
      ).toEqual([]);
    },
  );
});

describe("protocol", () => {
  const protocol = (path: string) => `packages/protocol/src/${path}`;

  test("R-1 the protocol is made of words, names records by their types, and runs anywhere; core does not know it", () => {
    expect(
      objections(
        protocol("view/a.ts"),
        'import { a } from "@orgate/core/vocab"; import type { B } from "@orgate/core/journal"; import "zod"; import "./b.ts";',
      ),
    ).toEqual([]);
    for (const door of ["@orgate/core", "@orgate/core/journal", "@orgate/core/loop"])
      expect(objections(protocol("view/a.ts"), `import { a } from "${door}";`)).toEqual([
        "protocol may import @orgate/core/vocab, @orgate/core/text of ours only",
      ]);
    expect(objections(protocol("wire/a.ts"), 'import "node:fs";')).toHaveLength(1);
    expect(objections(protocol("wire/a.ts"), 'import { a } from "../testing/index.ts";')).toHaveLength(1);
    expect(objections(core("gate/a.ts"), 'import { a } from "@orgate/protocol";')).toEqual([
      "`packages/core` may not import `@orgate/protocol`",
    ]);
  });
});

describe("shell", () => {
  test("R-1 the shell speaks the protocol only: neither the runtime nor records of the journal", () => {
    const file = "packages/shell/src/ui/a.ts";
    expect(
      objections(file, 'import "@orgate/core/vocab"; import "@orgate/protocol"; import "@orgate/protocol/view"; import "node:fs";'),
    ).toEqual([]);
    for (const door of ["orgate", "@orgate/core", "@orgate/core/journal", "@orgate/core/loop", "../../../orgate/src/config/config.ts"])
      expect(objections(file, `import { a } from "${door}";`)).toHaveLength(1);
  });
});

describe("symbi", () => {
  const symbi = (path: string) => `packages/symbi/src/${path}`;

  test("R-1 a language imports core and runs anywhere; core does not know it", () => {
    expect(objections(symbi("a.ts"), 'import { a } from "@orgate/core"; import { b } from "./b.ts";')).toEqual([]);
    expect(objections(symbi("a.ts"), 'import { a } from "orgate";')).toEqual(["`packages/symbi` may not import `orgate`"]);
    expect(objections(symbi("a.ts"), 'import "node:fs";')).toEqual(["symbi runs anywhere: `node:` modules arrive through ports"]);
    expect(objections(symbi("a.ts"), "await import(name);")).toHaveLength(1);
    expect(objections(core("gate/a.ts"), 'import { a } from "@orgate/symbi";')).toEqual(["`packages/core` may not import `@orgate/symbi`"]);
  });

  test("R-1 the contracts of toolclad run anywhere; what runs programs does not", () => {
    const known = { ...manifests, "packages/toolclad": { name: "@orgate/toolclad", dependencies: { "@orgate/core": "0.1.0" } } };
    const found = (path: string, source: string) =>
      findingsIn(`packages/toolclad/src/${path}`, source, known).map(({ message }) => message);
    expect(found("contract/a.ts", 'import "node:fs";')).toEqual(["toolclad/contract runs anywhere: `node:` modules arrive through ports"]);
    expect(found("running/a.ts", 'import "node:fs"; import { a } from "@orgate/core/vocab";')).toEqual([]);
    expect(found("running/a.ts", 'import { a } from "orgate";')).toEqual(["`packages/toolclad` may not import `orgate`"]);
  });

  test("R-1 a package that is in no table imports nothing of ours", () => {
    const unknown = { ...manifests, "packages/attic": { name: "@orgate/attic", dependencies: { "@orgate/core": "0.1.0" } } };
    expect(findingsIn("packages/attic/src/a.ts", 'import { a } from "@orgate/core";', unknown)).toHaveLength(1);
  });
});

describe("host", () => {
  test("R-1 host imports core by its export map", () => {
    expect(
      objections(host("a.ts"), 'import { a } from "@orgate/core"; import { b } from "@orgate/core/journal"; import "node:fs";'),
    ).toEqual([]);
    expect(objections(host("a.ts"), 'import { a } from "@orgate/core/permit";')).toEqual([
      "`@orgate/core/permit` is not a published entry point of `@orgate/core`",
    ]);
    expect(objections(host("a.ts"), 'import { a } from "../../core/src/permit/turnstile.ts";')).toEqual([
      "`../../core/src/permit/turnstile.ts` leaves `packages/orgate`: use a published entry point",
    ]);
  });

  test("R-1 host never imports console", () => {
    expect(objections(host("a.ts"), 'import { a } from "@orgate/console";')).toEqual([
      "`packages/orgate` may not import `@orgate/console`",
    ]);
    expect(objections(host("a.ts"), 'import { a } from "../../console/src/a.ts";')).toHaveLength(1);
  });
});

describe("console, examples, bench, e2e", () => {
  const page = "packages/console/src/screens/Fleet.tsx";

  test.each(["@orgate/core/vocab", "@orgate/protocol", "@orgate/protocol/view", "react", "./parts/Row.tsx"])(
    "R-1 console may import %s",
    (specifier) => {
      expect(objections(page, `import { a } from "${specifier}";`)).toEqual([]);
    },
  );

  test.each(["@orgate/core", "@orgate/core/loop", "@orgate/core/journal", "orgate", "node:fs", "../../../orgate/src/config.ts"])(
    "R-1 console may not import %s",
    (specifier) => {
      expect(objections(page, `import { a } from "${specifier}";`)).toHaveLength(1);
    },
  );

  test.each(["examples", "bench", "e2e"])("R-1 %s uses published entry points only", (folder) => {
    const file = `${folder}/src/a.ts`;
    expect(
      objections(file, 'import { a } from "@orgate/core/loop"; import { b } from "orgate"; import { c } from "./b.ts"; import "node:fs";'),
    ).toEqual([]);
    expect(objections(file, 'import { a } from "../../packages/orgate/src/compose.ts";')).toHaveLength(1);
    expect(objections(file, 'import { a } from "@orgate/core/permit";')).toHaveLength(1);
    expect(objections(file, 'import { a } from "orgate/compose";')).toHaveLength(1);
    expect(objections(file, 'import { a } from "../../scripts/tree.ts";')).toHaveLength(1);
  });

  test("R-1 nothing imports the console, and a script imports no package of ours by path", () => {
    expect(objections("examples/src/a.ts", 'import { a } from "@orgate/console";')).toHaveLength(1);
    expect(objections("scripts/a.ts", 'import { a } from "../packages/core/src/index.ts";')).toHaveLength(1);
    expect(objections("scripts/a.ts", 'import { a } from "./tree.ts";')).toEqual([]);
  });
});

describe("declared dependencies", () => {
  test.each([
    [core("gate/a.ts"), "smol-toml"],
    [core("gate/a.ts"), "vitest"],
    [host("a.ts"), "zod"],
    [host("a.ts"), "fast-check"],
    ["e2e/src/a.ts", "langgraph"],
    ["bench/src/a.ts", "langgraph"],
    ["scripts/a.ts", "zod"],
    ["packages/core/src/gate/a.test.ts", "smol-toml"],
  ])("R-1 %s may not import the undeclared %s", (file, name) => {
    const messages = objections(file, `import { a } from "${name}/deep";`);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toContain(`\`${name}\` is not declared in `);
  });

  test.each([
    [core("gate/a.ts"), "zod"],
    [core("testing/a.ts"), "fast-check"],
    [core("gate/a.test.ts"), "vitest"],
    [host("a.ts"), "smol-toml"],
    ["bench/peers/src/a.ts", "langgraph"],
    ["scripts/a.test.ts", "vitest"],
    ["vitest.config.ts", "vitest/config"],
  ])("R-1 %s may import the declared %s", (file, name) => {
    expect(objections(file, `import { a } from "${name}";`)).toEqual([]);
  });

  test("R-1 an absolute path or a URL is no import", () => {
    expect(objections(host("a.ts"), 'import "/srv/a.ts"; import "https://example.org/a.js"; import "file:///srv/a.js";')).toHaveLength(3);
  });
});

test("R-1 a finding names its file and line", () => {
  const source = 'import { a } from "../vocab/index.ts";\n\nimport {\n  b,\n} from "../gate/port.ts";\n';
  expect(findingsIn(core("journal/a.ts"), source, manifests)).toEqual([
    { file: core("journal/a.ts"), line: 5, message: "room `journal` may not import `gate`" },
  ]);
});

test("R-1 a tree is read with its manifests, and files under fixtures are left alone", () => {
  const root = temporaryTree({
    "package.json": "{}",
    "packages/core/package.json": '{ "dependencies": { "zod": "4.6.7" } }',
    "packages/core/src/gate/a.ts": 'import { z } from "zod";\nimport { a } from "../journal/port.ts";\n',
    "packages/core/src/gate/fixtures/a.ts": 'import { a } from "../../journal/port.ts";\n',
  });
  expect(checkRooms(root)).toEqual([{ file: core("gate/a.ts"), line: 2, message: "room `gate` may not import `journal`" }]);
});
