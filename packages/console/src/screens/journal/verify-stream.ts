/** Reads a running verification: lines of JSON, as they arrive. */
import { API, type VerifyLine, verifyLine } from "@orgate/protocol";

export async function* readVerification(): AsyncGenerator<VerifyLine> {
  const failed = (detail: string): VerifyLine => ({ kind: "failed", detail });
  try {
    const answer = await fetch(`${API}/journal/verify/progress`, { credentials: "same-origin" });
    if (!answer.ok || answer.body === null) {
      yield failed(answer.status === 403 ? "you may not read the whole journal" : `the server answered with ${answer.status}`);
      return;
    }
    let isOver = false;
    for await (const line of readLines(answer.body)) {
      const read = verifyLine.safeParse(JSON.parse(line));
      if (!read.success) continue;
      isOver = read.data.kind !== "progress";
      yield read.data;
    }
    if (!isOver) yield failed("the connection was lost before the verification ended");
  } catch {
    yield failed("the server cannot be reached");
  }
}

async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    rest += decoder.decode(value, { stream: !done });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield line;
    if (done) return;
  }
}
