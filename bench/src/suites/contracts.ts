/** What it costs to check the arguments of a manifest's call, and to build what runs. The floor is Zod on a plain object of the same shape. */
import type { JsonObject } from "@orgate/core";
import { type Contract, type ContractScope, createContract, decodeManifest, decodeScope, type InvocationContext } from "@orgate/toolclad";
import * as z from "zod";
import { type Contender, compare, type Effort, ratio } from "../measure.ts";
import { digits, type Report } from "../report.ts";

const AIM_US = 20;

const SCOPE = decodeScope({
  targets: Array.from({ length: 20 }, (_, i) => `10.${i}.0.0/16`),
  domains: Array.from({ length: 20 }, (_, i) => `*.zone${i}.example.com`),
  exclude: ["10.3.0.1", "db.zone7.example.com"],
});
const WORLD: ContractScope = {
  places: { resolve: (path) => ({ kind: "place", real: path, absolute: `/project/${path}` }) },
  scope: SCOPE.kind === "scope" ? SCOPE.scope : { targets: [], exclude: [], texts: [] },
};
const AROUND: InvocationContext = { secret: () => "", ambient: (name) => name, env: {}, scanId: "s" };

const plain = {
  name: { type: "string", required: true, pattern: "^[a-z0-9_-]+$" },
  note: { type: "string", sanitize: ["text"] },
  count: { type: "integer", min: 1, max: 100 },
  mode: { type: "enum", allowed: ["fast", "slow"], default: "fast" },
  deep: { type: "boolean" },
  wait: { type: "duration" },
};
const network = { target: { type: "scope_target", required: true }, page: { type: "url", scope_check: true }, ip: { type: "ip_address" } };
const PLAIN: JsonObject = { name: "build-42", note: "what it is for, in a few words", count: 7, mode: "slow", deep: true, wait: "5m" };
const NETWORK: JsonObject = {
  ...PLAIN,
  target: "web.zone19.example.com",
  page: "https://api.zone18.example.com/v1/items?q=a&b=c",
  ip: "10.19.4.2",
};

function contract(args: object): Contract {
  const names = Object.keys(args);
  const template = `tool ${names.map((name) => `--${name} {${name}}`).join(" ")}`;
  const read = decodeManifest({ tool: { name: "t", version: "1", description: "t" }, args, command: { template } }, {});
  if (read.kind === "refused") throw new Error(JSON.stringify(read.issues));
  return createContract(read.manifest);
}

const shape = z.strictObject({
  name: z.string().regex(/^[a-z0-9_-]+$/),
  note: z.string().optional(),
  count: z.int().min(1).max(100).optional(),
  mode: z.enum(["fast", "slow"]).default("fast"),
  deep: z.boolean().optional(),
  wait: z.string().optional(),
});

export async function contracts({ effort, calls }: { readonly effort: Effort; readonly calls: number }): Promise<Report> {
  const [simple, wide] = [contract(plain), contract({ ...plain, ...network })];
  const times = (label: string, once: () => boolean): Contender => ({
    label,
    units: calls,
    run() {
      for (let i = 0; i < calls; i += 1) if (!once()) throw new Error(`${label}: refused`);
    },
  });
  const measured = await compare(
    [
      times("zod, six plain arguments (floor)", () => shape.safeParse(PLAIN).success),
      times("check, six plain arguments", () => simple.check(PLAIN, WORLD).kind === "valid"),
      times("check, and three hosts in scope", () => wide.check(NETWORK, WORLD).kind === "valid"),
      times("check again and build the argv of these", () => {
        const checked = wide.check(NETWORK, WORLD);
        return checked.kind === "valid" && wide.invoke(checked.args, WORLD, AROUND).kind === "invocation";
      }),
    ],
    effort,
  );
  const [floor, few, hosts] = measured;
  if (floor === undefined || few === undefined || hosts === undefined) throw new Error("nothing was measured");
  const aim = (what: string, us: number) => ({ what, want: `≤ ${AIM_US} µs`, got: `${digits(us)} µs`, met: us <= AIM_US });
  return {
    name: "contracts",
    title: "Arguments of a manifest's call",
    unit: "µs per call",
    by: "cpu",
    lines: measured.map((m) => ({ ...m, ratio: m === floor ? null : ratio(m, floor, "cpuUs"), more: "" })),
    aims: [
      aim("check of six plain arguments", few.cpu.median),
      aim("check of nine, three of them hosts in a scope of forty", hosts.cpu.median),
    ],
    notes: ["paths cost what the file system takes to resolve them, and are not in here"],
  };
}
