/** The names of this server. W-14 A request for any other name is refused. */
import type { IncomingMessage } from "node:http";
import { wireProblem } from "@orgate/protocol";
import { refusal } from "../../operations/refusal.ts";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const isAnyAddress = (host: string): boolean => host === "0.0.0.0" || host === "::";
const nameIn = (host: string): string => host.toLowerCase().replace(/:\d+$/, "");

export class HostNames {
  readonly #host: string;
  readonly #names: ReadonlySet<string>;
  readonly #isAny: boolean;
  #isOpen = false;

  constructor(host: string, names: readonly string[]) {
    this.#host = host;
    this.#names = new Set([...names, host, ...LOOPBACK].map((name) => name.toLowerCase()));
    this.#isAny = names.includes("*") || (isAnyAddress(host) && names.length === 0);
  }

  /** Until the server listens, no name is its own. */
  open(): void {
    this.#isOpen = true;
  }

  url(port: number): string {
    const host = isAnyAddress(this.#host) ? "127.0.0.1" : this.#host.includes(":") ? `[${this.#host}]` : this.#host;
    return `http://${host}:${port}`;
  }

  /** With two `Host` headers, a proxy in front of this server may have checked the other one. */
  mustMatch({ rawHeaders, headers: { host } }: IncomingMessage): void {
    const hosts = rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === "host");
    if (hosts.length > 1) throw refusal(wireProblem("bad-request", "the request has more than one `Host`", "send one"));
    const isOurs = this.#isOpen && host !== undefined && (this.#isAny || this.#names.has(nameIn(host)));
    if (!isOurs) throw refusal(wireProblem("bad-request", "this server has another name", "ask it under its own"));
  }
}
