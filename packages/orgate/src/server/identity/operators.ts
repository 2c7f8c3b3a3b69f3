/**
 * The key pairs that the server holds for its operators, in `.orgate/operators/keys/`: beside those that people have on their own machines.
 *
 * W-16 what an operator does through the server is signed by a key that the server holds for them, certified as theirs; once that is withdrawn nothing
 *      more is signed with it, and nobody is let in for them.
 */
import { join } from "node:path";
import { FaultError, isFault, type KeyId } from "@orgate/core";
import type { OpenProjectStore } from "../../runtime/ports/project-store.ts";
import type { Person } from "../../store/keyring.ts";
import { openPersonsAt } from "../../store/open-read-only.ts";

export type Operators = Readonly<{
  /** Creates and certifies the key the first time. Throws `key-bad` if it was withdrawn. */
  open(name: string): Promise<Person>;
  /** The person whose key is there already; null if there is none, or it was withdrawn. */
  known(name: string): Person | null;
  /** As of the last refresh of the keyring. */
  isGood(person: Person): boolean;
  /** The key that the server holds for this person was withdrawn. */
  isWithdrawn(name: string): boolean;
}>;

const operatorsAt = (directory: string): ReturnType<typeof openPersonsAt> => openPersonsAt(join(directory, "operators"));

/** The keys that the server holds for this person: one, or none. */
export function listServerKeys(directory: string, name: string): readonly KeyId[] {
  const persons = operatorsAt(directory);
  return persons.names().includes(name) ? [persons.open(name).key.id] : [];
}

export function openOperators(
  directory: string,
  keyring: Pick<OpenProjectStore["keyring"], "refresh" | "ring" | "certifyPerson">,
): Operators {
  const persons = operatorsAt(directory);
  const opened = new Map<string, Person>();
  const opening = new Map<string, Promise<Person>>();
  const isGood = ({ name, key }: Person): boolean => {
    const known = keyring.ring().keys.get(key.id);
    return known !== undefined && known.withdrawn === null && known.of.kind === "person" && known.of.name === name;
  };

  /** Another server of this project may have been first. */
  function createdOrThere(name: string): Person {
    try {
      return persons.create(name);
    } catch (error) {
      if (isFault(error, "key-bad") && persons.names().includes(name)) return persons.open(name);
      throw error;
    }
  }

  async function open(name: string): Promise<Person> {
    const person = persons.names().includes(name) ? persons.open(name) : createdOrThere(name);
    await keyring.certifyPerson(name, person.key.publicKey); // throws when it was withdrawn
    opened.set(name, person);
    return person;
  }

  return {
    isGood,
    isWithdrawn: (name) => listServerKeys(directory, name).some((key) => (keyring.ring().keys.get(key)?.withdrawn ?? null) !== null),
    known(name) {
      const person = opened.get(name) ?? (persons.names().includes(name) ? persons.open(name) : null);
      if (person === null || !isGood(person)) return null;
      opened.set(name, person);
      return person;
    },
    async open(name) {
      const person = opened.get(name);
      if (person === undefined) {
        const mine = opening.get(name) ?? open(name).finally(() => opening.delete(name));
        opening.set(name, mine);
        return mine;
      }
      if (isGood(person)) return person;
      throw new FaultError({
        kind: "key-bad",
        key: person.key.id,
        detail: "it was withdrawn",
        hint: `move its file out of ${join(".orgate", "operators", "keys")} to let \`${name}\` in again, under a new key`,
      });
    },
  };
}
