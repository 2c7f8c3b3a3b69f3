import { once } from "node:events";
import { statSync } from "node:fs";
import { connect, createServer } from "node:net";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { startPostgres } from "./postgres.ts";
import { startProxy, type TcpProxy } from "./proxy.ts";
import { startRestate } from "./restate.ts";

const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

test("PostgreSQL keeps what it committed over kill -9, on the same port", async () => {
  const postgres = await startPostgres();
  closing.push(postgres.kill);
  await postgres.query("CREATE TABLE kept (n int)");
  await postgres.query("INSERT INTO kept VALUES (1)");
  await postgres.kill();
  await expect(postgres.query("SELECT n FROM kept")).rejects.toThrow();
  await postgres.start();
  expect(await postgres.query("SELECT n FROM kept")).toEqual([{ n: 1 }]);
});

test("PostgreSQL does not run as root and asks for a password", async () => {
  const postgres = await startPostgres();
  closing.push(postgres.kill);
  expect(statSync(`/proc/${postgres.pid()}`).uid).not.toBe(0);
  expect(await postgres.query("SELECT current_setting('listen_addresses') AS on, current_setting('fsync') AS fsync")).toEqual([
    { on: "127.0.0.1", fsync: "on" },
  ]);
  const stranger = new pg.Client({ connectionString: postgres.url().replace("laboratory", "guess") });
  await expect(stranger.connect()).rejects.toThrow("password authentication failed");
});

test("a frozen PostgreSQL answers once it is thawed", async () => {
  const postgres = await startPostgres();
  closing.push(postgres.kill);
  postgres.freeze();
  const connecting = postgres.query("SELECT 1 AS n");
  postgres.thaw();
  expect(await connecting).toEqual([{ n: 1 }]);
});

test("Restate comes back after kill -9", async () => {
  const restate = await startRestate();
  closing.push(restate.kill);
  await restate.kill();
  expect(restate.isRunning()).toBe(false);
  await restate.start();
  expect((await fetch(`${restate.admin}/health`)).ok).toBe(true);
});

/** A server that says everything back, behind a proxy; `lines` is what one client heard. */
async function echoBehindProxy(): Promise<
  Readonly<{ proxy: TcpProxy; say(text: string): void; heard(): Promise<string>; end: Promise<unknown> }>
> {
  const server = createServer((socket) => void socket.on("error", () => {}).pipe(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const proxy = await startProxy(() => (typeof address === "object" && address !== null ? address.port : 0));

  const client = connect(proxy.port, "127.0.0.1");
  await once(client, "connect");
  const end = new Promise((resolve) => client.once("error", resolve).once("close", resolve));
  closing.push(async () => {
    await proxy.end();
    server.close();
  });
  return { proxy, end, say: (text) => void client.write(text), heard: async () => String((await once(client, "data"))[0]) };
}

test("a proxy passes, holds back while stalled, and passes on what it held back", async () => {
  const { proxy, say, heard } = await echoBehindProxy();
  const first = heard();
  say("a");
  expect(await first).toBe("a");
  proxy.stall();
  let passed = false;
  const second = heard().then((text) => {
    passed = true;
    return text;
  });
  say("b");
  const other = await echoBehindProxy(); // a full round trip elsewhere: time enough for the loopback interface
  const echoed = other.heard();
  other.say("x");
  await echoed;
  expect(passed).toBe(false);
  proxy.delay(5);
  expect(await second).toBe("b");
  expect(proxy.connections()).toBe(1);
});

test("a proxy cuts connections, and refuses new ones while it is closed", async () => {
  const { proxy, end } = await echoBehindProxy();
  proxy.close();
  await end;

  const refused = connect(proxy.port, "127.0.0.1");
  const [error] = await once(refused, "error");
  expect(error.code).toBe("ECONNRESET");
  proxy.open();
  const accepted = connect(proxy.port, "127.0.0.1");
  await once(accepted, "connect");
  accepted.destroy();
});
