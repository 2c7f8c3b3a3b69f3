/**
 * The one way to a provider: Node's fetch, watched.
 *
 * M-17 One ask is one request: what a package would send beside it, to go on from an answer that was cut, was decided and announced by nobody.
 * M-10 An answer is bounded, and one that is no answer of a model (a login page, a proxy's error) is refused by its type.
 * Rule: M-9.
 */
import { APICallError } from "@ai-sdk/provider";
import { findSystemCode } from "./fault.ts";
import { WireTrouble } from "./wire-trouble.ts";

/** Reports of a call's fetch to its watcher. */
export type Wire = Readonly<{ beat(): void; answered(status: number): void }>;

export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** `watching` names the call that a signal belongs to: one provider object serves many at a time. */
export function watchedFetch(watching: (signal: AbortSignal) => Wire | null, maxBytes: number): typeof fetch {
  const asked = new WeakSet<Wire>();
  return async (input, init) => {
    const wire = init?.signal ? watching(init.signal) : null;
    if (wire !== null && asked.has(wire))
      throw new WireTrouble({ detail: "the provider wants a second request for one answer, which nobody has decided" });
    if (wire !== null) asked.add(wire);
    const response = await fetch(input, { ...init, redirect: "manual" }).catch((error: unknown) => {
      throw neverSent(error) ?? error;
    });
    wire?.answered(response.status);
    wire?.beat();
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      const detail = "the address redirects elsewhere, and a key is not sent on";
      throw new WireTrouble({ detail, status: response.status, broke: false });
    }
    const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    if (response.ok && !isAnswer(type)) {
      await response.body?.cancel();
      throw new WireTrouble({
        detail: `the answer is \`${type.slice(0, 60)}\`, which is no answer of a model: is the address right`,
        status: response.status,
      });
    }
    return bounded(response, wire, maxBytes);
  };
}

/** M-4 What fetch itself refuses (a port that no browser would use) has no code of the system's, and has reached nobody. */
function neverSent(error: unknown): WireTrouble | null {
  if (!(error instanceof TypeError) || findSystemCode(error) !== null) return null;
  const why = error.cause instanceof Error ? error.cause.message : error.message;
  return new WireTrouble({ detail: `the request could not be made: ${why}`, broke: false });
}

/** Some servers name no type, or a vague one. */
const isAnswer = (type: string): boolean =>
  type === "" || type === "text/event-stream" || type === "text/plain" || /^application\/.*json/.test(type);

function bounded(response: Response, wire: Wire | null, maxBytes: number): Response {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  let bytes = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      wire?.beat();
      if (done) return controller.close();
      bytes += value.byteLength;
      if (bytes <= maxBytes) return controller.enqueue(value);
      await reader.cancel();
      const detail = `the answer is longer than ${maxBytes} bytes`;
      // As the libraries' own class: any other would be wrapped on its way.
      throw new APICallError({
        message: detail,
        url: "",
        requestBodyValues: null,
        cause: new WireTrouble({ detail, status: response.status }),
      });
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
