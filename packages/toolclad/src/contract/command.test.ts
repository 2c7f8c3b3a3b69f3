import { describe, expect, test } from "vitest";
import { argv, contract, issues } from "./fixtures/manifests.ts";
import { readWhen } from "./when.ts";

const text = { type: "string" };
const free = { type: "string", sanitize: ["text"] };

describe("templates", () => {
  test.each([
    ["echo {x}", ["echo", "a b"]],
    ["echo '{x}'", ["echo", "a b"]],
    ["echo --name={x}.txt", ["echo", "--name=a b.txt"]],
    [`echo "say \\"{x}\\"" end`, ["echo", 'say "a b"', "end"]],
    ["echo 'single \\n {x}' \\{x}", ["echo", "single \\n a b", "{x}"]],
    ["curl -w '\\n%{{http_code}}' {x}", ["curl", "-w", "\\n%{http_code}", "a b"]],
    ["echo  two   blanks\t{x}", ["echo", "two", "blanks", "a b"]],
    ["echo '' {x} \"\"", ["echo", "", "a b", ""]],
    ["echo {{x}} {x}{x}", ["echo", "{x}", "a ba b"]],
  ])("T-17 %s is split before a value goes in", (template, expected) => {
    expect(argv(contract({ args: { x: { ...text, required: true } }, command: { template } }), { x: "a b" })).toEqual(expected);
  });

  test.each(["a b", "a' 'b", 'a" "b', "a\\ b", "x -o /etc/passwd", "--output=x a", "{y}", "{_scan_id}", "$(id)", "a\nb", "'", "\\"])(
    "T-17 %j is one item, whatever it holds",
    (x) => {
      const c = contract({
        args: { x: { ...free, required: true, option: true }, y: { ...text, default: "other" } },
        command: { template: "curl -H '{x}' -d {x} end" },
      });
      expect(argv(c, { x })).toEqual(["curl", "-H", x, "-d", x, "end"]);
    },
  );

  test("T-17 a bare placeholder whose argument is not given leaves nothing behind; a quoted one is an empty item", () => {
    const c = contract({ args: { x: text }, command: { template: "echo {x} '{x}' -a={x} end" } });
    expect(argv(c, {})).toEqual(["echo", "", "-a=", "end"]);
  });

  test("T-17 the array form is taken item by item", () => {
    const c = contract({ args: { x: { ...text, required: true } }, command: { exec: ["curl", "-H", "X-A: {x} 'b'", "{x}", "{{x}}"] } });
    expect(argv(c, { x: "1 2" })).toEqual(["curl", "-H", "X-A: 1 2 'b'", "1 2", "{x}"]);
  });

  test("T-17 a value never begins an option, unless the manifest says so", () => {
    const c = contract({
      args: { x: { ...text, required: true }, n: { type: "integer", min: -5 }, m: { type: "integer" }, o: { ...text, option: true } },
      command: { template: "tool {x} {n} {m} {o}" },
    });
    expect(argv(c, { x: "-rf" })).toBe("`x` begins with a dash, and would be an option");
    expect(argv(c, { x: "--output=x" })).toContain("begins with a dash");
    expect(argv(c, { x: "a", m: -1 })).toBe("`m` begins with a dash, and would be an option");
    expect(argv(c, { x: "a-b", n: -1, o: "-v" })).toEqual(["tool", "a-b", "-1", "-v"]);
  });

  test("T-17 nor behind something empty of the manifest's own; a smallest value makes no text a number", () => {
    const c = contract({ args: { b: { ...text, required: true } }, command: { template: "tool {pre}{b}", defaults: { pre: "" } } });
    expect(argv(c, { b: "rf" })).toEqual(["tool", "rf"]);
    expect(argv(c, { b: "-rf" })).toBe("`b` begins with a dash, and would be an option");
    const mapped = contract({
      args: { m: { type: "enum", allowed: ["on", "off"], required: true }, b: { ...text, required: true } },
      command: { template: "tool {_m}{b}", mappings: { m: { on: "x", off: "''" } } },
    });
    expect(argv(mapped, { m: "on", b: "-rf" })).toEqual(["tool", "x-rf"]);
    expect(argv(mapped, { m: "off", b: "-rf" })).toContain("begins with a dash");
    const least = contract({ args: { b: { ...text, required: true, min: -1 } }, command: { template: "tool {b}" } });
    expect(argv(least, { b: "-rf" })).toContain("begins with a dash");
  });

  test("T-17 nor by what is left out before a dash of the manifest's own", () => {
    const c = contract({ args: { a: text, b: { ...text, required: true } }, command: { template: "tool {a}-{b}" } });
    expect(argv(c, { a: "x", b: "rf" })).toEqual(["tool", "x-rf"]);
    expect(argv(c, { b: "rf" })).toContain("begins with a dash");
  });

  test.each([
    ["echo {y}", "nothing fills `{y}`"],
    ["echo 'x", "without its end"],
    ["echo x\\", "escapes nothing"],
    ["{x} y", "the first item must be the program"],
    ["-x y", "the first item must be the program"],
    ["echo {_secret:k}", "process list"],
    ["bash -c {x}", "a value would become a program for `bash`"],
    ["/bin/sh -ec 'echo {x}'", "a value would become a program"],
    ["python3 -c 'print({x})'", "a value would become a program"],
    ["awk '{x}' file", "a value would become a program"],
    ["python3 -c{x}", "a value would become a program"],
    ["node --eval={x}", "a value would become a program"],
    ["timeout 5 sh -c {x}", "a value would become a program"],
    ["nice -n 5 /usr/bin/python3 -c {x}", "a value would become a program"],
  ])("T-17 %s is refused", (template, why) => expect(issues({ args: { x: text }, command: { template } }).join()).toContain(why));

  test("T-17 an interpreter with a fixed program takes values as arguments", () => {
    expect(argv(contract({ args: { x: text }, command: { template: "python3 -c 'import sys' {x}" } }), { x: "1" })).toEqual([
      "python3",
      "-c",
      "import sys",
      "1",
    ]);
  });

  test("T-17 `binary` and the template name the same program", () => {
    expect(issues({ tool: { binary: "nmap" }, command: { template: "ncat x" } })).toEqual([
      "command.template: it runs `ncat`, and `binary` says `nmap`",
    ]);
    expect(issues({ tool: { binary: "/usr/bin/nmap" }, command: { template: "nmap x" } })).toEqual([]);
  });
});

const SCAN = {
  args: {
    target: { type: "scope_target", required: true, position: 1 },
    scan_type: { type: "enum", allowed: ["ping", "service"], required: true, position: 2 },
    port: { type: "port" },
    user: text,
    file: { type: "path" },
  },
  command: {
    template: "nmap {_scan_flags} --max-rate {max_rate} -oX {_output_file} {_single} {target}",
    defaults: { max_rate: 1000 },
    mappings: { scan_type: { ping: "-sn -PE", service: "-sT '-s V'" } },
    conditionals: {
      single: { when: "user != '' and file == ''", template: "-l {user}" },
      at_port: { when: "port != ''", template: "-p {port}" },
    },
  },
};

describe("mappings and conditionals", () => {
  test("T-17 a mapping contributes the items it has in the manifest", () => {
    const c = contract(SCAN);
    expect(argv(c, { target: "10.0.0.2", scan_type: "service" })).toEqual([
      "nmap",
      "-sT",
      "-s V",
      "--max-rate",
      "1000",
      "-oX",
      "/evidence/_output_file",
      "10.0.0.2",
    ]);
  });

  test("T-17 a conditional is there when it holds, where its name stands, else at the end", () => {
    const c = contract(SCAN);
    const at = { target: "10.0.0.2", scan_type: "ping" };
    expect(argv(c, { ...at, user: "ann b", port: 22 })).toEqual([
      "nmap",
      "-sn",
      "-PE",
      "--max-rate",
      "1000",
      "-oX",
      "/evidence/_output_file",
      "-l",
      "ann b",
      "10.0.0.2",
      "-p",
      "22",
    ]);
    expect(argv(c, { ...at, user: "ann", file: "users" })).not.toContain("-l");
    expect(argv(c, { ...at, user: "-x" })).toContain("begins with a dash");
  });

  test("T-17 a mapping must cover what is allowed, and belong to an argument", () => {
    const { command } = SCAN;
    expect(issues({ ...SCAN, command: { ...command, mappings: { scan_type: { ping: "-sn" } } } })).toEqual([
      "command.mappings.scan_type: `service` is allowed for `scan_type` and has no mapping",
    ]);
    expect(issues({ ...SCAN, command: { ...command, mappings: { ...command.mappings, other: { a: "b" } } } }).join()).toContain(
      "there is no argument `other`",
    );
  });

  test("T-17 what may be several items stands alone", () => {
    expect(issues({ ...SCAN, command: { ...SCAN.command, template: "nmap --flags={_scan_flags} {target}" } }).join()).toContain(
      "may be several items",
    );
    const one = { ...SCAN.command, template: "nmap --mode={_scan_flags} {target}", mappings: { scan_type: { ping: "p", service: "s" } } };
    expect(argv(contract({ ...SCAN, command: one }), { target: "10.0.0.2", scan_type: "ping" })).toEqual(["nmap", "--mode=p", "10.0.0.2"]);
  });

  test("T-17 a condition is a closed grammar", () => {
    const good = ["a == 'x'", "a != ''", "a == 1 and b != 2", 'a < 5 or b >= 2.5 and c == "y"', "a == true"];
    const bad = ["", "a", "a = 1", "a == b", "1 == a", "a == 'x' xor b == 1", "a == 'x' and", "process.exit()", "a == 'x"];
    expect(good.filter((t) => readWhen(t).kind === "bad")).toEqual([]);
    expect(bad.filter((t) => readWhen(t).kind === "when")).toEqual([]);
    expect(issues({ ...SCAN, command: { ...SCAN.command, conditionals: { single: { when: "nobody == 1", template: "x" } } } })).toEqual([
      "command.conditionals.single.when: there is no argument `nobody`",
    ]);
  });

  test.each([
    [
      "n < 5 or n > 10",
      [
        [3, true],
        [7, false],
        [11, true],
      ],
    ],
    [
      "n >= 5 and n <= 6",
      [
        [5, true],
        [7, false],
      ],
    ],
    [
      "n != 0",
      [
        [0, false],
        [1, true],
      ],
    ],
  ] as const)("T-17 %s", (when, cases) => {
    const c = contract({ args: { n: { type: "integer" } }, command: { template: "t", conditionals: { c: { when, template: "yes" } } } });
    for (const [n, expected] of cases) expect([n, argv(c, { n })]).toEqual([n, expected ? ["t", "yes"] : ["t"]]);
  });
});
