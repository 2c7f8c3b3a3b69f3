/** Whom a session serves, as its caller says when it opens (G-40). */
import { plainValue } from "../../gate/arguments/targets.ts";
import { FaultError, RECORD_ATTRIBUTES, type RecordValue, type Subject } from "../../vocab/index.ts";

/** Attributes are for policies: those that no tool and no setting declares are journalled and not seen by them. */
export type SubjectInput = Readonly<{ id: string; attributes?: Readonly<Record<string, RecordValue>> }>;

const MAX_ID = 200;
const MAX_TEXT = 2_000;
const MOST_ATTRIBUTES = 50;
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

export function checkSubject({ id, attributes = {} }: SubjectInput): Subject {
  const wrong = (detail: string, hint: string) => new FaultError({ kind: "usage", detail, hint });
  if (typeof id !== "string" || plainValue(id) !== id || id.length > MAX_ID || !id.isWellFormed())
    throw wrong(
      `\`${String(id).slice(0, 80)}\` is no id of a subject`,
      `use 1 to ${MAX_ID} characters that can be seen, no space at either end`,
    );
  const entries = Object.entries(attributes);
  if (entries.length > MOST_ATTRIBUTES)
    throw wrong(`a subject has at most ${MOST_ATTRIBUTES} attributes`, "leave out what no policy reads");
  for (const [name, value] of entries) {
    if (!NAME.test(name) || RECORD_ATTRIBUTES.some((own) => own === name))
      throw wrong(`\`${name}\` is no name of an attribute`, "use letters, digits and _, a letter first; not id, owner or ageSeconds");
    if (!isValue(value))
      throw wrong(
        `attribute \`${name}\` of the subject has no value that policies can read`,
        "use text, a number, true or false, or a list of texts",
      );
  }
  return Object.freeze({ id, attributes: Object.freeze(Object.fromEntries(entries)) });
}

const isText = (value: unknown): boolean => typeof value === "string" && value.length <= MAX_TEXT && value.isWellFormed();
const isValue = (value: unknown): boolean =>
  isText(value) ||
  typeof value === "boolean" ||
  (typeof value === "number" && Number.isFinite(value)) ||
  (Array.isArray(value) && value.length <= 200 && value.every(isText));
