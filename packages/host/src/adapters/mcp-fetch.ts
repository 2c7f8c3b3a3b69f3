/** The network of MCP servers, within bounds. */

/** The most that one message may hold, over a pipe or over HTTP. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

/** T139 counted from one blank line to the next, which ends an event: a stream may last as long as it likes. */
export const boundedFetch = async (input: string | URL, init?: RequestInit): Promise<Response> => {
  const response = await fetch(input, init);
  if (response.body === null) return response;
  let since = 0;
  let last = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      for (const byte of chunk) {
        since = byte === NEWLINE && last === NEWLINE ? 0 : since + 1;
        if (byte !== RETURN) last = byte;
      }
      if (since > MAX_MESSAGE_BYTES) controller.error(new Error(`an answer of more than ${MAX_MESSAGE_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(count), { status, statusText, headers });
};
const [NEWLINE, RETURN] = [10, 13];
