import { join } from "node:path";
import { expect, test } from "vitest";
import { toConfig } from "./config.ts";

const read = (value: unknown) => toConfig(value, "/p", "/p/orgate.toml");

test("A-4 a name is enough; the rest has a default, and every path is absolute", () => {
  expect(read({ project: { name: "shop" } })).toEqual({
    kind: "config",
    config: {
      root: "/p",
      from: "/p",
      file: "/p/orgate.toml",
      skillsHome: null,
      name: "shop",
      agents: ["agents/*.ts", "agents/*.toml", "agents/*.symbi", "agents/*.dsl"],
      tools: ["tools/*.ts", "tools/*.clad.toml"],
      policies: "/p/policies",
      ports: null,
      models: { default: null },
      prices: {},
      retention: { archive: null, closedMs: null, idleMs: null },
      coordinator: {},
      groups: { agents: {}, users: {}, world: { zone: "UTC", subject: {} } },
      journal: { directory: join("/p", ".orgate"), powerCut: "lose-nothing", sealing: "interval", cluster: null },
      server: { host: "127.0.0.1", chatKeysInUrl: false, proxies: [], port: 4680, names: [], turnsAtOnce: 256 },
      notify: null,
      schedules: {},
      webhooks: {},
      knowledge: { embedding: null },
    },
  });
});

test("A-4 every setting is taken over", () => {
  const value = {
    project: { name: "shop", agents: ["a.ts", "more/*.ts"] },
    journal: { directory: "/var/journal", power_cut: "lose-last-moments", sealing: "each" },
    groups: { agents: { desk: ["clerk"] }, users: { ops: ["ana", "ben"] } },
    notify: { webhook: "https://chat.example/hook", secret_env: "HOOK_SECRET" },
  };
  expect(read(value)).toMatchObject({
    config: {
      agents: ["a.ts", "more/*.ts"],
      journal: { directory: "/var/journal", powerCut: "lose-last-moments", sealing: "each" },
      groups: { agents: { desk: ["clerk"] }, users: { ops: ["ana", "ben"] }, world: { zone: "UTC", subject: {} } },
      notify: { webhook: "https://chat.example/hook", secretEnv: "HOOK_SECRET" },
    },
  });
});

test.each<[unknown, string, string]>([
  [{}, "project", "`project` is missing"],
  [{ project: {} }, "project.name", "`project.name` is missing"],
  [{ project: { name: "" } }, "project.name", "1 to 64 letters"],
  [{ project: { name: "a\u001b[31m" } }, "project.name", "1 to 64 letters"],
  [{ project: { name: "a", agent: [] } }, "project.agent", "there is no setting `project.agent`"],
  [{ project: { name: "a" }, jurnal: {} }, "jurnal", "there is no setting `jurnal`"],
  [{ project: { name: "a", agents: "a.ts" } }, "project.agents", "expected array"],
  [{ project: { name: "a", agents: ["ok.ts", "../x.ts"] } }, "project.agents.1", "below the project's folder"],
  [{ project: { name: "a", agents: ["/etc/x.ts"] } }, "project.agents.0", "below the project's folder"],
  [{ project: { name: "a", agents: [""] } }, "project.agents.0", "below the project's folder"],
  [{ project: { name: "a" }, journal: { power_cut: "maybe" } }, "journal.power_cut", "lose-nothing"],
  [
    { project: { name: "a" }, groups: { users: { ops: "ana" } } },
    "groups.users.ops",
    "`groups.users.ops`: invalid input: expected array, received string",
  ],
  [{ project: { name: "a" }, notify: { webhook: "http://x/" } }, "notify.secret_env", "`notify.secret_env` is missing"],
  [{ project: { name: "a" }, notify: { webhook: "ftp://x/", secret_env: "S" } }, "notify.webhook", "http or https"],
  [{ project: { name: "a" }, notify: { webhook: "http://me:pw@x/", secret_env: "S" } }, "notify.webhook", "without a name or password"],
  [{ project: { name: "a" }, notify: { webhook: "http://x/", secret_env: "not a name" } }, "notify.secret_env", "environment variable"],
  [{ project: { name: "a" }, groups: { people: {} } }, "groups.people", "there is no setting `groups.people`"],
])("A-4 %j is refused at `%s`", (value, path, detail) => {
  const found = read(value);
  if (found.kind !== "invalid") throw new Error("it was accepted");
  expect(found.issue.path.join(".")).toBe(path);
  expect(found.issue.detail).toContain(detail);
});
