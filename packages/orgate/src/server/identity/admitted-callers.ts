/** Callers that were let in: whether their access still counts, and who is cut off when it ends (W-12). */
import type { Millis } from "@orgate/core";
import type { Access } from "@orgate/core/journal";
import { type AccessStore, explainLapse, keyWithdrawnText } from "../../identity/access-store.ts";
import type { AccessScope, Caller } from "../../operations/access.ts";
import type { Person } from "../../store/keyring.ts";
import type { Operators } from "./operators.ts";

type AccessId = Access["access"];
type Watcher = Readonly<{ caller: Caller; ended(why: string): void }>;
type AdmissionPorts = Readonly<{ accesses: Pick<AccessStore, "all">; operators: Pick<Operators, "isGood">; now(): Millis }>;

/** The longest time of one timer. */
const LONGEST_MS = 2 ** 31 - 1;

export class AdmittedCallers {
  readonly #ports: AdmissionPorts;
  /** By identity of the object: a copy of a caller is nobody. The access is null for what runs inside the server. */
  readonly #admitted = new WeakMap<Caller, Readonly<{ access: AccessId | null }>>();
  readonly #watchers = new Set<Watcher>();
  #alarm: Readonly<{ at: number; timer: NodeJS.Timeout }> | null = null;
  #trouble: string | null = null;

  constructor(ports: AdmissionPorts) {
    this.#ports = ports;
  }

  admit(person: Person, scope: AccessScope, access: AccessId | null): Caller {
    const caller: Caller = Object.freeze({ principal: { kind: "user", id: person.name }, person, scope });
    this.#admitted.set(caller, { access });
    return caller;
  }

  accessOf(caller: Caller): AccessId | null {
    return this.#admitted.get(caller)?.access ?? null;
  }

  /** Null while the caller's access counts, otherwise why it does not. */
  findEnd(caller: Caller): string | null {
    const { accesses, operators, now } = this.#ports;
    const admission = this.#admitted.get(caller);
    if (admission === undefined) return "nobody let this caller in";
    if (this.#trouble !== null) return this.#trouble;
    const given = admission.access === null ? null : (accesses.all().get(admission.access) ?? null);
    if (admission.access !== null && given === null) return "this access is not known any more";
    const why = given === null ? null : explainLapse(given, "access", now());
    if (why !== null) return why;
    return operators.isGood(caller.person) ? null : keyWithdrawnText(caller.person.name);
  }

  watch(caller: Caller, ended: (why: string) => void): () => void {
    const why = this.findEnd(caller);
    if (why !== null) {
      ended(why);
      return () => {};
    }
    const watcher: Watcher = { caller, ended };
    this.#watchers.add(watcher);
    const { expiresAt } = caller.scope;
    if (expiresAt !== null && (this.#alarm === null || expiresAt < this.#alarm.at)) this.#setAlarm(expiresAt);
    return () => void this.#watchers.delete(watcher);
  }

  /** Cuts off callers whose access has ended, and sets the alarm for the next that expires. */
  recheck(): void {
    let next = Number.POSITIVE_INFINITY;
    for (const one of [...this.#watchers]) {
      const why = this.findEnd(one.caller);
      if (why === null) next = Math.min(next, one.caller.scope.expiresAt ?? next);
      else if (this.#watchers.delete(one)) one.ended(why);
    }
    this.close();
    if (next !== Number.POSITIVE_INFINITY) this.#setAlarm(next);
  }

  isInTrouble(): boolean {
    return this.#trouble !== null;
  }

  /** While `trouble` is not null, no access counts. */
  recheckWith(trouble: string | null): void {
    this.#trouble = trouble;
    this.recheck();
  }

  close(): void {
    clearTimeout(this.#alarm?.timer);
    this.#alarm = null;
  }

  #setAlarm(at: number): void {
    clearTimeout(this.#alarm?.timer);
    const ms = Math.min(Math.max(1, at - this.#ports.now()), LONGEST_MS);
    this.#alarm = { at, timer: setTimeout(() => this.recheck(), ms).unref() };
  }
}
