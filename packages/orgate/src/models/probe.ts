/**
 * M-20 Whether somebody is there. An address on this machine is knocked on, without a word; with leave, a provider is asked for the list of its models with
 *      its key, which costs nothing and tells whether the key is good. Of what it answers nothing is repeated but its status and the names.
 */
import { connect } from "node:net";
import * as z from "zod";
import { classifyTrouble } from "./fault.ts";
import { redactor } from "./redact.ts";
import { watchedFetch } from "./wire.ts";

/** `models`: the names it lists, as they stand after `provider/`; null where it does not say. */
export type Probe = Readonly<{ ok: boolean; detail: string; models: readonly string[] | null }>;

const LOCAL = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;
const KNOCK_MS = 1_000;

/** Null: it is not on this machine, or somebody listens. */
export async function findSilence(base: string): Promise<string | null> {
  const { hostname, port, protocol } = new URL(base);
  if (!LOCAL.test(hostname)) return null;
  const at = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port === "" ? (protocol === "https:" ? 443 : 80) : port) };
  const heard = await new Promise<boolean>((resolve) => {
    const socket = connect({ ...at, timeout: KNOCK_MS });
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", end(true)).once("error", end(false)).once("timeout", end(false));
  });
  return heard ? null : `nobody listens at ${base}: is the server running`;
}

type Ask = Readonly<{ path: string; headers(key: string): Readonly<Record<string, string>> }>;
const bearer = (key: string): Readonly<Record<string, string>> => (key === "" ? {} : { authorization: `Bearer ${key}` });
const LIKE_OPENAI: Ask = { path: "/models", headers: bearer };
const ASKS: Readonly<Record<string, Ask>> = {
  anthropic: { path: "/models?limit=1000", headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }) },
  google: { path: "/models?pageSize=1000", headers: (key) => ({ "x-goog-api-key": key }) },
  openrouter: { path: "/key", headers: bearer }, // its list of models is for everybody, and says nothing of a key
};

const PATIENCE_MS = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;

export async function probeProvider(provider: string, base: string, key: string | null): Promise<Probe> {
  const { path, headers } = ASKS[provider] ?? LIKE_OPENAI;
  const no = (detail: string): Probe => ({ ok: false, detail, models: null });
  try {
    const fetch = watchedFetch(() => null, MAX_BYTES);
    const response = await fetch(`${base}${path}`, { headers: headers(key ?? ""), signal: AbortSignal.timeout(PATIENCE_MS) });
    if (response.status === 401 || response.status === 403 || (response.status === 400 && provider === "google"))
      return no(`it refuses the key (${response.status})`); // Google answers 400 to a key that is none
    if (!response.ok) return no(`it answers ${response.status}`);
    const models = namesIn(await response.json());
    return { ok: true, detail: models === null ? "it takes the key" : `it answers, and lists ${models.length} models`, models };
  } catch (error) {
    if (error instanceof SyntaxError) return no("its answer is no JSON"); // whose own message quotes a piece of it
    if (error instanceof DOMException) return no(`it does not answer within ${PATIENCE_MS / 1_000} s`);
    // A server's own text (a type, a body that is no JSON) may repeat the request, key included.
    return no(redactor(key === null ? [] : [key])(classifyTrouble(error, { status: null, begun: false, now: 0 }).detail));
  }
}

const listSchema = z.union([
  z.object({ data: z.array(z.object({ id: z.string() })) }).transform(({ data }) => data.map(({ id }) => id)),
  z
    .object({ models: z.array(z.object({ name: z.string() })) })
    .transform(({ models }) => models.map(({ name }) => name.replace(/^models\//, ""))),
]);
function namesIn(body: unknown): readonly string[] | null {
  const read = listSchema.safeParse(body);
  return read.success ? read.data : null;
}
