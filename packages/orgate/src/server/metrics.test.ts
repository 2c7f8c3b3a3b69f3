import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { prometheusText } from "../operations/metrics.ts";
import { type Serving, serving } from "./fixtures/serving.ts";

const open: Serving[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});

test("W-30 what another process's session does is counted too, each thing once", async () => {
  const at = await serving();
  open.push(at);
  await at.runtime.run("clerk", "look").result; // not by the server: nobody asked it
  const shown = { sees: () => true, may: () => true };
  const value = async (name: string, label: string, of: string) =>
    (await at.at.front.metrics.shown(shown)).find((m) => m.name === name)?.samples.find(({ labels }) => labels[label] === of)?.value;
  while ((await value("orgate_turns_ended_total", "ending", "completed")) === undefined)
    await new Promise((resolve) => setImmediate(resolve));
  expect(await value("orgate_calls_ended_total", "outcome", "done")).toBe(1);
  expect(await value("orgate_sessions", "state", "idle")).toBe(1);
  expect(await value("orgate_model_replies_total", "agent", "clerk")).toBe(2);
});

test("W-9 W-30 the processes of a project are listed for those who may see the project, with this server among them", async () => {
  const at = await serving();
  open.push(at);
  const own = at.runtime.place.store.slot.writer;
  const listed = await (await at.get("/api/v1/processes")).json();
  expect(listed).toMatchObject({ own, processes: [{ writer: own, place: "this machine", holds: null, quietest: [] }] });
});

test("W-30 a label's value is never what somebody said: paths that are not there count as one", async () => {
  const at = await serving();
  open.push(at);
  for (let i = 0; i < 20; i += 1) await (await at.get(`/api/v1/nothing-${i}`)).text();
  const all = await at.at.front.metrics.shown({ sees: () => true, may: () => true });
  const requests = all.find(({ name }) => name === "orgate_http_requests_total");
  expect(requests?.samples).toEqual([{ labels: { route: "none", method: "GET", status: "404" }, value: 20, suffix: "" }]);
  const text = prometheusText([{ name: "a", help: "b\nc", type: "gauge", samples: [{ labels: { x: 'q"\\\n' }, value: 1, suffix: "" }] }]);
  expect(text).toBe('# HELP a b\\nc\n# TYPE a gauge\na{x="q\\"\\\\\\n"} 1\n');
});

test("W-25 what is made while it is read is made at the reader's pace, and no further once it has gone", async () => {
  let made = 0;
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const at = await serving({
    serve: {
      pages: [
        {
          ways: ["GET /endless"],
          answer: async ({ path }) =>
            path !== "/endless"
              ? null
              : {
                  status: 200,
                  answer: {
                    kind: "stream",
                    mediaType: "text/plain",
                    async write(sink, gone) {
                      for (; !gone.aborted; made += 1) await sink.write("x".repeat(64 * 1024));
                      resolve();
                    },
                  },
                },
        },
      ],
    },
  });
  open.push(at);
  const socket = connect(at.at.port, "127.0.0.1");
  socket.write("GET /endless HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await once(socket, "readable");
  for (let before = -1; before !== made; ) {
    before = made; // until nothing more is made: the reader has not read
    for (let i = 0; i < 200; i += 1) await new Promise((next) => setImmediate(next));
  }
  expect(made).toBeLessThan(1_000); // what the machine's own buffers take, and no more
  socket.destroy();
  await stopped;
});
