// A provider on this machine, in a process of its own: Anthropic's stream of events, the same for every request. Prints its port.
// node bench/src/models-server.ts WORDS
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const count = Number(process.argv[2] ?? "50");
const event = (type: string, fields: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const usage = { input_tokens: 20, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 2 };
const message = {
  id: "msg_bench",
  type: "message",
  role: "assistant",
  model: "claude-bench",
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage,
};
const delta = (text: string): string => event("content_block_delta", { index: 0, delta: { type: "text_delta", text } });

const opening = event("message_start", { message }) + event("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
const words = Array.from({ length: count }, (_, i) => delta(`word ${String(i).padStart(4, "0")} `));
const closing =
  event("content_block_stop", { index: 0 }) +
  event("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: count * 2 } }) +
  event("message_stop", {});

const server = createServer((request, response) => {
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (request.url?.includes("/slowly/") === true) return drip(response, 0);
    // the clock of the whole machine: whoever reads it knows how long the first word was on its way
    response.end(`${opening}${delta(`@${process.hrtime.bigint()} `)}${words.join("")}${closing}`);
  });
});

/** A word at a time, as models do: five hundred of these at once are five hundred streams, not five hundred answers. */
function drip(response: Parameters<Parameters<typeof createServer>[1] & object>[1], next: number): void {
  if (next === 0) response.write(opening);
  const word = words[next];
  if (word === undefined) return void response.end(closing);
  response.write(word);
  setImmediate(() => drip(response, next + 1));
}

server.listen(0, "127.0.0.1", 4_096, () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.stdin.resume().on("end", () => process.exit(0)); // with whoever started it
