/**
 * OAuth of MCP servers: a person signs in once, or Orgate has credentials of its own.
 *
 * T-37 Nobody is sent to a sign-in by a run: without tokens a server that wants them is refused, with what to do. Tokens lie in the person's
 *      own folder, readable by them alone, by server and address: another address under the same name gets none of them. `state` is checked.
 * T-37 A sign-in begins with the newest revision of the protocol, then the earlier one: a server may speak either alone.
 * T-36 Credentials of an entry go to the issuer that the entry names, and to nobody else: the server does not say who gets them.
 */

import { createHash, randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { FaultError } from "@orgate/core";
import { lazily } from "@orgate/core/vocab";
import * as z from "zod";
import type { McpAuth, McpTransport } from "./config.ts";
import { type McpReach, serverFetch } from "./fetch.ts";
import { type ProtocolEra, versionOptions } from "./protocol-versions.ts";
import { isSignInNeeded } from "./sign-in-needed.ts";

type Sdk = typeof import("@modelcontextprotocol/client");
type Http = Extract<McpTransport, { kind: "http" }>;

/** The stored state of one sign-in. */
type Kept = Readonly<{
  client?: StoredOAuthClientInformation;
  tokens?: StoredOAuthTokens;
  discovery?: OAuthDiscoveryState;
  redirectUrl?: string;
  /** Scopes that the server asked for and did not get: requested at the next sign-in. */
  wanted?: string;
}>;

export type SignIns = Readonly<{ read(): Kept; write(kept: Kept): void; forget(): void }>;

/** Of one server at one address. */
export function openSignIns(home: string, server: string, url: string): SignIns {
  const folder = join(home, "mcp-sign-ins");
  const file = join(folder, `${server}-${createHash("sha256").update(url).digest("hex").slice(0, 16)}.json`);
  return {
    read() {
      try {
        const kept: unknown = JSON.parse(readFileSync(file, "utf8"));
        return typeof kept === "object" && kept !== null ? kept : {};
      } catch {
        return {};
      }
    },
    write(kept) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const fresh = `${file}.${process.pid}.new`;
      writeFileSync(fresh, JSON.stringify(kept), { mode: 0o600, flush: true });
      chmodSync(fresh, 0o600);
      renameSync(fresh, file);
    },
    forget: () => rmSync(file, { force: true }),
  };
}

/** Null: there is nothing to identify us with but the entry's own headers. */
export function makeOAuthProvider(sdk: Sdk, { auth, headers }: Http, signIns: SignIns): OAuthClientProvider | null {
  if (auth.grant === "client") return clientProvider(sdk, auth);
  if (Object.keys(headers).some((name) => name.toLowerCase() === "authorization")) return null;
  const { tokens, redirectUrl } = signIns.read();
  if (tokens === undefined) return null;
  return personProvider(auth, signIns, {
    redirectUrl: redirectUrl ?? "http://127.0.0.1/callback",
    state: randomBytes(16).toString("hex"),
    onRedirect: (url) => {
      const wanted = url.searchParams.get("scope");
      if (wanted !== null) signIns.write({ ...signIns.read(), wanted });
    },
  });
}

function clientProvider(sdk: Sdk, auth: Extract<McpAuth, { grant: "client" }>): OAuthClientProvider {
  const { clientId, clientSecret, privateKey, algorithm, scope, issuer } = auth;
  const more = { clientName: "Orgate", ...(scope === null ? {} : { scope }), ...(issuer === null ? {} : { expectedIssuer: issuer }) };
  return privateKey === null
    ? new sdk.ClientCredentialsProvider({ clientId, clientSecret: clientSecret ?? "", ...more })
    : new sdk.PrivateKeyJwtProvider({ clientId, privateKey, algorithm, ...more });
}

type Redirecting = Readonly<{ redirectUrl: string; state: string; onRedirect: (url: URL) => void }>;

function personProvider(
  auth: Extract<McpAuth, { grant: "person" }>,
  signIns: SignIns,
  { redirectUrl, state, onRedirect }: Redirecting,
): OAuthClientProvider {
  let verifier = "";
  const { clientId, clientSecret, metadataUrl, issuer } = auth;
  const keep = (more: Kept): void => signIns.write({ ...signIns.read(), ...more });
  const scope = signIns.read().wanted ?? auth.scope;
  const metadata: OAuthClientMetadata = {
    client_name: "Orgate",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    ...(scope === null ? {} : { scope }),
  };
  return {
    redirectUrl,
    clientMetadata: metadata,
    ...(metadataUrl === null ? {} : { clientMetadataUrl: metadataUrl }),
    state: () => state,
    clientInformation: () =>
      clientId === null
        ? signIns.read().client
        : {
            client_id: clientId,
            ...(clientSecret === null ? {} : { client_secret: clientSecret }),
            ...(issuer === null ? {} : { issuer }),
          },
    saveClientInformation: (client) => (clientId === null ? keep({ client }) : undefined),
    tokens: () => signIns.read().tokens,
    saveTokens: (tokens) => keep({ tokens, redirectUrl }),
    redirectToAuthorization: onRedirect,
    saveCodeVerifier: (text) => {
      verifier = text;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (discovery) => keep({ discovery }),
    discoveryState: () => signIns.read().discovery,
    invalidateCredentials: (what) => {
      const { client, tokens, ...rest } = signIns.read();
      const keepsClient = client !== undefined && what !== "all" && what !== "client";
      const keepsTokens = tokens !== undefined && what !== "all" && what !== "tokens";
      signIns.write({ ...rest, ...(keepsClient ? { client } : {}), ...(keepsTokens ? { tokens } : {}) });
    },
  };
}

/** Asks a person to sign in, and returns the parameters of the address that they were redirected to. */
export type Authorize = (url: URL) => Promise<URLSearchParams>;

/** A new registration each time, unless the entry has one: the way back is another. */
export async function signIn(
  sdk: Sdk,
  t: Http,
  signIns: SignIns,
  { reach, redirectUrl, authorize }: Readonly<{ reach: McpReach; redirectUrl: string; authorize: Authorize }>,
): Promise<void> {
  const { auth } = t;
  if (auth.grant === "client") throw usage("it has credentials of its own: nobody signs in", "leave out `orgate.auth`, or run an agent");
  const before = signIns.read();
  const { wanted } = before;
  signIns.forget();
  try {
    await signInAnew(sdk, t, auth, { signIns, reach, redirectUrl, authorize, wanted });
  } catch (error) {
    signIns.write(before); // what it was good for it is still good for
    throw error;
  }
}

type Anew = Readonly<{ signIns: SignIns; reach: McpReach; redirectUrl: string; authorize: Authorize; wanted: string | undefined }>;

async function signInAnew(
  sdk: Sdk,
  t: Http,
  auth: Extract<McpAuth, { grant: "person" }>,
  { signIns, reach, redirectUrl, authorize, wanted }: Anew,
): Promise<void> {
  const { url, headers } = t;
  const fetch = serverFetch(t, reach);
  const state = randomBytes(16).toString("hex");
  const sent: URL[] = [];
  const authProvider = personProvider(auth, signIns, { redirectUrl, state, onRedirect: (to) => void sent.push(to) });
  const open = (): StreamableHTTPClientTransport =>
    new sdk.StreamableHTTPClientTransport(new URL(url), { requestInit: { headers }, fetch, authProvider });
  const transport = wanted === undefined ? await knock(sdk, open) : open();
  if (wanted !== undefined) await sdk.auth(authProvider, { serverUrl: url, scope: wanted, forceReauthorization: true, fetchFn: fetch });
  const to = sent.at(-1);
  if (to === undefined) throw usage("it wants nobody to sign in", "run an agent");
  const back = await authorize(to);
  if (back.get("state") !== state) throw usage("the sign-in came back with another `state` than it was sent with", "try it again");
  await transport.finishAuth(back);
}

/** Runs up to the first request that needs a sign-in; returns the connection that was refused. */
async function knock(sdk: Sdk, open: () => StreamableHTTPClientTransport): Promise<StreamableHTTPClientTransport> {
  const tryEra = async (era: ProtocolEra): Promise<StreamableHTTPClientTransport> => {
    const transport = open();
    const client = new sdk.Client({ name: "orgate", version: "1" }, versionOptions(era));
    try {
      await client.connect(transport);
      await client.request({ method: "tools/list", params: {} }, anything());
    } catch (error) {
      if (!isSignInNeeded(error)) throw error;
    } finally {
      await client.close().catch(() => {});
    }
    return transport;
  };
  try {
    return await tryEra("newest");
  } catch (error) {
    return tryEra("earlier").catch(() => {
      throw error; // what the newest revision was answered is what the server has to say
    });
  }
}
const anything = lazily(() => z.looseObject({}));

const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
