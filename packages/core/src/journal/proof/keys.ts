/**
 * Whose signature counts. The `keys` stream is the only list: it starts with the root key's own certificate, and everything after it is
 * signed by the root key of its time.
 * J-16 an intent is genuine when a key that is certified for exactly that person, or for exactly the writer that `system` names, and not
 *     withdrawn, signed it; the runtime answers no question, and only it reports outcomes.
 * Rule: J-15.
 */
import {
  type Entry,
  type Intent,
  intentText,
  type KeyHolder,
  type KeyId,
  type Millis,
  type Principal,
  type Seq,
  type Sign,
  type SystemEvent,
  seq,
  toCanonicalJson,
} from "../../vocab/index.ts";
import { isWriterName } from "../codec.ts";
import type { CheckSignature, NameKey } from "../port.ts";

/** A private key that is never seen: only what it signs. */
export type SigningKey = Readonly<{ id: KeyId; publicKey: string; sign: Sign }>;
export type KeyChecks = Readonly<{ checkSignature: CheckSignature; nameKey: NameKey }>;

export type KeyCertified = Extract<SystemEvent, { kind: "key.certified" }>;
export type KeyRotated = Extract<SystemEvent, { kind: "key.rotated" }>;

/** The text that the root key signs when it certifies. */
export const certificateText = ({ key, of, publicKey, by }: Omit<KeyCertified, "kind" | "signature">): string =>
  `orgate-certificate-1\n${toCanonicalJson({ key, of, publicKey, by })}`;
/** The text that both root keys sign when one takes over from the other. */
export const rotationText = ({ from, to, publicKey }: Omit<KeyRotated, "kind" | "byOld" | "byNew">): string =>
  `orgate-rotation-1\n${toCanonicalJson({ from, to, publicKey })}`;

export function certify(of: KeyHolder, subject: Pick<SigningKey, "id" | "publicKey">, root: SigningKey): KeyCertified {
  const body = { key: subject.id, of, publicKey: subject.publicKey, by: root.id };
  return { kind: "key.certified", ...body, signature: root.sign(certificateText(body)) };
}

export function rotate(from: SigningKey, to: SigningKey): KeyRotated {
  const body = { from: from.id, to: to.id, publicKey: to.publicKey };
  const text = rotationText(body);
  return { kind: "key.rotated", ...body, byOld: from.sign(text), byNew: to.sign(text) };
}

export type CertifiedKey = Readonly<{ key: KeyId; of: KeyHolder; publicKey: string; since: Millis; withdrawn: Millis | null }>;

/** The `keys` stream, folded. `roots` from the first to the present one. */
export type Keyring = Readonly<{
  through: Seq;
  roots: readonly KeyId[];
  keys: ReadonlyMap<KeyId, CertifiedKey>;
  bad: readonly Readonly<{ seq: Seq; reason: string }>[];
}>;
export const NO_KEYS: Keyring = Object.freeze({ through: seq(0), roots: [], keys: new Map(), bad: [] });

/** An entry that does not count changes nothing but `bad`. Other kinds do not belong in this stream. */
export function foldKeys(before: Keyring, entries: Iterable<Pick<Entry, "seq" | "at" | "event">>, checks: KeyChecks): Keyring {
  const roots = [...before.roots];
  const keys = new Map(before.keys);
  const bad = [...before.bad];
  let through = before.through;
  for (const { seq: place, at, event } of entries) {
    through = place;
    const reason = refuseKeyEvent({ roots, keys }, event, checks);
    if (reason !== null) bad.push({ seq: place, reason });
    else if (event.kind === "key.certified") {
      keys.set(event.key, { key: event.key, of: event.of, publicKey: event.publicKey, since: at, withdrawn: null });
      if (event.of.kind === "root") roots.push(event.key);
    } else if (event.kind === "key.rotated") {
      keys.set(event.to, { key: event.to, of: { kind: "root" }, publicKey: event.publicKey, since: at, withdrawn: null });
      roots.push(event.to);
    } else if (event.kind === "key.withdrawn") {
      const key = keys.get(event.key);
      if (key !== undefined) keys.set(event.key, { ...key, withdrawn: at });
    }
  }
  return { through, roots, keys, bad };
}

/** Why an entry of the `keys` stream does not count; null when it does. */
export function refuseKeyEvent(ring: Pick<Keyring, "roots" | "keys">, event: Entry["event"], checks: KeyChecks): string | null {
  switch (event.kind) {
    case "key.certified":
      return whyNotCertified(ring, event, checks);
    case "key.rotated":
      return whyNotRotated(ring, event, checks);
    case "key.withdrawn": {
      const key = ring.keys.get(event.key);
      if (key === undefined) return "it withdraws a key that is not certified";
      if (key.of.kind === "root") return "a root key is not withdrawn but rotated";
      return key.withdrawn === null ? null : "the key was withdrawn before";
    }
    default:
      return `\`${event.kind}\` does not belong in this stream`;
  }
}

function whyNotCertified({ roots, keys }: Pick<Keyring, "roots" | "keys">, e: KeyCertified, checks: KeyChecks): string | null {
  if (!areTexts(e.key, e.publicKey, e.by, e.signature) || !isHolder(e.of)) return "the certificate is malformed";
  if (checks.nameKey(e.publicKey) !== e.key) return "the key's name does not belong to its public key";
  if (keys.has(e.key)) return "the key was certified before";
  const root = roots.at(-1);
  if (e.of.kind === "root" && root !== undefined) return "there is a root key already: it changes only by rotation";
  if (e.of.kind !== "root" && root === undefined) return "there is no root key yet";
  if (e.by !== (root ?? e.key)) return "the certificate is not by the root key of its time";
  const signer = root === undefined ? e.publicKey : keys.get(root)?.publicKey;
  if (signer === undefined || !checks.checkSignature(signer, certificateText(e), e.signature))
    return "the certificate's signature does not match";
  return null;
}

function whyNotRotated({ roots, keys }: Pick<Keyring, "roots" | "keys">, e: KeyRotated, checks: KeyChecks): string | null {
  if (!areTexts(e.from, e.to, e.publicKey, e.byOld, e.byNew)) return "the rotation is malformed";
  const old = e.from === roots.at(-1) ? keys.get(e.from) : undefined;
  if (old === undefined) return "the rotation is not from the root key of its time";
  if (checks.nameKey(e.publicKey) !== e.to) return "the key's name does not belong to its public key";
  if (keys.has(e.to)) return "the key was certified before";
  const text = rotationText(e);
  if (!checks.checkSignature(old.publicKey, text, e.byOld)) return "the old root key's signature does not match";
  if (!checks.checkSignature(e.publicKey, text, e.byNew)) return "the new root key's signature does not match";
  return null;
}

const areTexts = (...values: readonly unknown[]): boolean => values.every((v) => typeof v === "string");

/** The stream is read before anything vouches for it, so its shapes are not taken for granted. */
export function isHolder(of: unknown): of is KeyHolder {
  const { kind, writer, name } = (typeof of === "object" && of !== null ? of : {}) as Readonly<Record<string, unknown>>;
  if (kind === "root") return true;
  if (kind === "writer") return typeof writer === "string" && isWriterName(writer);
  return kind === "person" && typeof name === "string" && isPersonName(name);
}

/** Safe as a file name and in every text we print. */
export const isPersonName = (text: string): boolean => /^[a-z][a-z0-9_-]{0,31}$/.test(text);

/** Says whether an intent comes from whom it names (J-16). */
export function checkIntentSigner(
  ring: Keyring,
  intent: Intent,
  checkSignature: CheckSignature,
): { readonly kind: "genuine" } | { readonly kind: "refused"; readonly reason: string } {
  const refused = (reason: string) => ({ kind: "refused", reason }) as const;
  const { by, key: id, signature, wish, ...rest } = intent;
  if (by.kind === "agent") return refused("only people and the runtime itself send intents");
  if (by.kind === "system" && wish.kind === "answer") return refused("an approval request is answered by a person");
  if (by.kind === "user" && wish.kind === "late") return refused("only the runtime itself reports an outcome");
  if (id === null || signature === null) return refused("it is not signed");
  const key = ring.keys.get(id);
  if (key === undefined) return refused(`key \`${id}\` is not certified in this project`);
  if (key.withdrawn !== null) return refused(`key \`${id}\` was withdrawn`);
  if (!isKeyOf(key.of, by)) return refused(`key \`${id}\` is not of \`${by.id}\``);
  if (!checkSignature(key.publicKey, intentText({ ...rest, by, key: id, wish }), signature)) return refused("the signature does not match");
  return { kind: "genuine" };
}

const isKeyOf = (of: KeyHolder, by: Principal): boolean =>
  by.kind === "user" ? of.kind === "person" && of.name === by.id : by.kind === "system" && of.kind === "writer" && of.writer === by.id;
