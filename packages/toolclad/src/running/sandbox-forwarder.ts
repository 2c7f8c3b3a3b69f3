/**
 * Runs inside a sandbox that has no network, beside the program: what the program sends to a proxy on its own loopback goes on through a
 * socket in the file system to the gateway outside, which decides. Nothing depends on this process being honest: there is no other way out.
 */
import { spawn } from "node:child_process";
import { connect, createServer } from "node:net";

const [socket = "", port = "", file = "", ...args] = process.argv.slice(2);

const server = createServer((inner) => {
  const outer = connect(socket);
  inner.pipe(outer).pipe(inner);
  for (const one of [inner, outer])
    one.on("error", () => {
      inner.destroy();
      outer.destroy();
    });
});
server.listen(Number(port), "127.0.0.1", () => {
  const child = spawn(file, args, { stdio: "inherit" });
  child.once("error", (error) => {
    console.error(error.message);
    process.exit(126);
  });
  child.once("exit", (code, signal) => {
    if (signal !== null) process.kill(process.pid, signal);
    process.exit(code ?? 1);
  });
});
