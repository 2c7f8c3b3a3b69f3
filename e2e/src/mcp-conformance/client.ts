// The client under test: an agent of the real runtime that calls every tool of the given server once.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  cedarPolicies,
  createRuntime,
  defineAgent,
  isFault,
  type Json,
  type JsonObject,
  listOfferedTools,
  type McpCatalogue,
  openMcp,
  signInMcp,
  type Tool,
} from "orgate";

const url = process.argv.at(-1) ?? "";
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const given: JsonObject = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}");
const { toolCalls = [], ...context } = given as Readonly<{ [key: string]: string }> & { toolCalls?: readonly Json[] };
const folder = mkdtempSync(join(tmpdir(), "orgate-conformance-"));
const env = { ORGATE_HOME: join(folder, "home") };

/** As somebody would write it for that server. */
async function entryFor(): Promise<JsonObject> {
  const {
    client_id: clientId = "",
    client_secret: clientSecret = "",
    private_key_pem: privateKey = "",
    signing_algorithm: algorithm = "ES256",
  } = context;
  const withAuth = (auth: JsonObject): JsonObject => ({ url, orgate: { auth } });
  const issuer = clientId === "" ? null : await issuerOf();
  if (scenario === "auth/client-credentials-jwt") return withAuth({ grant: "client", clientId, privateKey, algorithm, issuer });
  if (scenario === "auth/client-credentials-basic") return withAuth({ grant: "client", clientId, clientSecret, issuer });
  if (scenario === "auth/pre-registration") return withAuth({ grant: "person", clientId, clientSecret, issuer });
  if (scenario === "auth/basic-cimd")
    return withAuth({ grant: "person", metadataUrl: "https://conformance-test.local/client-metadata.json" });
  return { url };
}

/** Whose the credentials are: whoever was given them knows it; the suite does not say, so it is looked up as they would. */
async function issuerOf(): Promise<string | null> {
  const { origin, pathname } = new URL(url);
  for (const path of [`/.well-known/oauth-protected-resource${pathname}`, "/.well-known/oauth-protected-resource"]) {
    const response = await fetch(`${origin}${path}`);
    if (!response.ok) continue;
    const { authorization_servers: [first = null] = [] } = (await response.json()) as { authorization_servers?: readonly string[] };
    return first;
  }
  return origin;
}

/** The person: the page of the test server sends them back at once. */
async function authorize(to: URL): Promise<URLSearchParams> {
  const { headers, status } = await fetch(to, { redirect: "manual" });
  const back = headers.get("location");
  if (back === null) throw new Error(`the page of the sign-in answered ${status} and led nowhere`);
  return new URL(back).searchParams;
}
const redirectUrl = "http://127.0.0.1:3000/callback";

const wantsSignIn = (text: string): boolean => text.includes("mcp login") || text.includes("sign in");

/** A person who is sent to sign in does so, and again where the server has moved to another place to sign in at. */
async function catalogueOf(entry: JsonObject): Promise<McpCatalogue> {
  for (let signIns = 0; ; signIns += 1) {
    try {
      return await listOfferedTools("server", entry, { env });
    } catch (error) {
      if (signIns === 2 || !isFault(error, "unreachable") || !wantsSignIn(error.message)) throw error;
      await signInMcp("server", entry, { env, redirectUrl, authorize });
    }
  }
}

/** The arguments that the scenario wants, or an example of each argument's type. */
function sample({ name, inputSchema }: Tool, { tools }: McpCatalogue): JsonObject {
  const wanted = (toolCalls as readonly Readonly<{ name: string; arguments: JsonObject }>[]).find((one) => `server__${one.name}` === name);
  // its schema does not take a null: left out, it says the same
  if (wanted !== undefined) return Object.fromEntries(Object.entries(wanted.arguments).filter(([, value]) => value !== null));
  // the schema of another tool, as it was accepted
  if (name === "server__json_schema_echo")
    return { schema: tools.find((one) => one.name === "json_schema_2020_12_tool")?.inputSchema ?? {} };
  const properties = (inputSchema["properties"] ?? {}) as Readonly<Record<string, JsonObject>>;
  const of = (schema: JsonObject): Json =>
    ({ number: 2, integer: 2, boolean: true, array: [], object: {}, string: "x" })[String(schema["type"])] ?? "x";
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, of(schema)]));
}

async function callAll(entry: JsonObject, catalogue: McpCatalogue, run: number): Promise<string> {
  const mcp = openMcp({ servers: { server: entry }, accepted: { server: catalogue }, env });
  const tools = mcp.tools("server");
  const policies = join(folder, `policies-${run}`);
  mkdirSync(policies);
  writeFileSync(join(policies, "all.cedar"), "permit(principal, action, resource);\n");
  const rules = [
    ...tools.map((tool) => ({ when: { called: [], notCalled: [tool.name] }, calls: [{ tool: tool.name, args: sample(tool, catalogue) }] })),
    { when: { called: [] }, say: "done: {{result}}" },
  ];
  const agent = defineAgent({ name: "caller", instructions: "Call everything.", model: "offline/caller", modelOptions: { rules }, tools });
  const gate = cedarPolicies({ directory: policies, agents: [agent] });
  const runtime = await createRuntime({
    directory: join(folder, `journal-${run}`),
    agents: [agent],
    gate,
    principal: { kind: "user", id: "suite" },
  });
  try {
    const { events } = await runtime.complete("caller", "go");
    return events.flatMap(({ event }) => (event.kind === "act.ended" ? [JSON.stringify(event.outcome)] : [])).join("\n");
  } finally {
    await runtime.close();
    await mcp.close();
  }
}

try {
  const entry = await entryFor();
  const catalogue = await catalogueOf(entry);
  let said = catalogue.tools.length === 0 ? "no tools" : await callAll(entry, catalogue, 1);
  for (let again = 2; again <= 4 && wantsSignIn(said); again += 1) {
    await signInMcp("server", entry, { env, redirectUrl, authorize });
    said = await callAll(entry, catalogue, again);
  }
  console.log(said);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
