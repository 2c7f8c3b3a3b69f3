/** Starts listening; W-33 a failure says what to do about it. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { FaultError } from "@orgate/core";

/** Resolves with the port. */
export function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(notListening(error, host, port)));
    server.listen({ host, port }, () => {
      const at: AddressInfo | string | null = server.address();
      resolve(typeof at === "object" && at !== null ? at.port : port);
    });
  });
}

function notListening(error: NodeJS.ErrnoException, host: string, port: number): FaultError {
  const say = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint }, error);
  switch (error.code) {
    case "EADDRINUSE":
      return say(`port ${port} of \`${host}\` is in use`, "name another with --port, or end what listens there (another `orgate up`?)");
    case "EACCES":
      return say(`port ${port} may not be had`, "name one above 1023 with --port");
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "EADDRNOTAVAIL":
      return say(`\`${host}\` is no address of this machine`, "name one with --host: 127.0.0.1, or 0.0.0.0 for all");
    default:
      return say(`it cannot listen on ${host}:${port}: ${error.message}`, "name another with --host and --port");
  }
}
