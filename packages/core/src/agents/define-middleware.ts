/**
 * A middleware is the developer's own code, called at fixed points of every turn. It is trusted like the rest of the process, and held to its types all the same.
 *
 * H-1 Each hook may return only what its stage lets it change; anything else does not type-check, and fails the turn at run time.
 */
import { FaultError, isName, type Middleware, NAME_RULE } from "../vocab/index.ts";
import { findUnknownKey } from "./unknown-key.ts";

const HOOKS = ["userMessage", "beforeModel", "afterModel", "beforeTool", "afterTool"] as const;
type Hook = (typeof HOOKS)[number];

export type MiddlewareDefinition = Readonly<{ name: string } & { [H in Hook]?: NonNullable<Middleware[H]> }>;

/** Known by a symbol every copy of this module shares: it may come from the compiled package or from source. */
const MIDDLEWARE = Symbol.for("orgate.middleware");

export function defineMiddleware(given: MiddlewareDefinition): Middleware {
  const named: unknown = given.name;
  if (!isName(named)) throw invalid("a middleware", `\`name\` is ${JSON.stringify(named) ?? "missing"}`, `a name is ${NAME_RULE}`);
  const where = `middleware \`${named}\``;
  const stray = findUnknownKey(given, ["name", ...HOOKS]);
  if (stray !== null) throw invalid(where, `there is no field \`${stray}\``, `the hooks are ${HOOKS.join(", ")}`);
  const wrong = HOOKS.find((hook) => given[hook] !== undefined && typeof given[hook] !== "function");
  if (wrong !== undefined) throw invalid(where, `\`${wrong}\` is no function`, "a hook is a function, or left out");
  if (HOOKS.every((hook) => given[hook] === undefined)) throw invalid(where, "it has no hook", `give it one of ${HOOKS.join(", ")}`);
  const { name, userMessage = null, beforeModel = null, afterModel = null, beforeTool = null, afterTool = null } = given;
  return Object.freeze({ name, userMessage, beforeModel, afterModel, beforeTool, afterTool, [MIDDLEWARE]: true });
}

/** In order; the journal names each, so no two have the same name. */
export function checkMiddleware(given: readonly Middleware[], where: string): readonly Middleware[] {
  if (!Array.isArray(given)) throw invalid(where, "`middleware` is not a list", "list what `defineMiddleware` returned");
  const seen = new Set<string>();
  for (const [i, one] of given.entries()) {
    const made: unknown = one;
    if (typeof made !== "object" || made === null || !(MIDDLEWARE in made))
      throw invalid(where, `\`middleware[${i}]\` is no middleware`, "make it with `defineMiddleware`");
    if (seen.has(one.name)) throw invalid(where, `two middlewares are named \`${one.name}\``, "rename one of them");
    seen.add(one.name);
  }
  return Object.freeze([...given]);
}

const invalid = (where: string, detail: string, hint: string): FaultError => new FaultError({ kind: "agent-invalid", where, detail, hint });
