/** Shows what the policies would decide about one action. Nothing is done or recorded. */

import { escapeHiddenLines, type Json, type JsonObject, policyId } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { policyRef } from "@orgate/protocol/view";
import { type FormEvent, useId, useState } from "react";
import { useHub, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { CodeView } from "../../parts/code/CodeView.tsx";
import { sentence } from "../../parts/States.tsx";
import { Tag, type Tone } from "../../parts/Tag.tsx";
import { Policies } from "../../parts/Verdict.tsx";
import css from "./Policies.module.css";

const TONES: Readonly<Record<string, Tone>> = { allow: "ok", deny: "bad", ask: "wait", defer: "wait", modify: "note" };
const SURFACES = ["cli", "library", "coordinator", "shell", "api", "schedule", "webhook", "mcp"] as const;
type Found = Readonly<{ kind: "decided"; told: OperationOutput<"evaluatePolicies"> } | { kind: "wrong"; text: string }>;

export function Evaluate({ agent: given }: Readonly<{ agent: string }>) {
  const hub = useHub();
  const [found, setFound] = useState<Found | null>(null);
  const [busy, setBusy] = useState(false);
  const evaluate = async (body: JsonObject): Promise<void> => {
    setBusy(true);
    const came = await hub.call("evaluatePolicies", { body });
    setBusy(false);
    setFound(
      came.kind === "ok"
        ? { kind: "decided", told: came.value }
        : { kind: "wrong", text: `${sentence(came.problem.detail)} ${sentence(came.problem.hint)}` },
    );
  };
  return (
    <div className={css.evaluate}>
      <ActionForm agent={given} busy={busy} evaluate={evaluate} refuse={(text) => setFound({ kind: "wrong", text })} />
      <div className={css.decided} role="status">
        {found === null ? (
          <p>
            Describe an action. The policies in force decide it, and you see which policies decided and what they read. Nothing is done.
          </p>
        ) : found.kind === "wrong" ? (
          <p className={css.wrong}>{found.text}</p>
        ) : (
          <Decided told={found.told} />
        )}
      </div>
    </div>
  );
}

type FormProps = Readonly<{ agent: string; busy: boolean; evaluate(body: JsonObject): Promise<void>; refuse(why: string): void }>;

/** Describes one action: who wants to do what, with which arguments, in which session. */
function ActionForm({ agent: given, busy, evaluate, refuse }: FormProps) {
  const { agents, chosen, actions, wanted, args, takesArgs, example, setAgent, setAction, setArgs } = useAction(given);
  const [labels, setLabels] = useState("");
  const [known, setKnown] = useState("");
  const [surface, setSurface] = useState<(typeof SURFACES)[number]>("api");
  const id = useId();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const read = readArgs(args);
    if (read === null) {
      refuse("The arguments are not a JSON object.");
      return;
    }
    const told = readArgs(known === "" ? "{}" : known);
    if (told === null) {
      refuse("The facts are not a JSON object.");
      return;
    }
    const split = labels.split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));
    const isTool = wanted.startsWith("tool:");
    void evaluate({ ...told, agent: chosen, action: wanted, surface, labels: split, ...(isTool ? { args: read } : {}) });
  };
  return (
    <form className={css.form} onSubmit={submit}>
      <label htmlFor={`${id}a`}>Agent</label>
      <select id={`${id}a`} value={chosen} onChange={({ target }) => setAgent(target.value)}>
        {agents.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <label htmlFor={`${id}b`}>Action</label>
      <input id={`${id}b`} list={`${id}known`} value={wanted} onChange={({ target }) => setAction(target.value)} />
      <datalist id={`${id}known`}>
        {actions.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <label htmlFor={`${id}c`}>Arguments (JSON)</label>
      <textarea
        id={`${id}c`}
        rows={5}
        spellCheck={false}
        value={args}
        disabled={!takesArgs}
        onChange={({ target }) => setArgs(target.value)}
      />
      <label htmlFor={`${id}d`}>Session labels (comma-separated)</label>
      <input id={`${id}d`} value={labels} placeholder="untrusted, pii" onChange={({ target }) => setLabels(target.value)} />
      <label htmlFor={`${id}f`}>Facts (JSON: records, subject, now, facts, targets, …)</label>
      <textarea
        id={`${id}f`}
        rows={3}
        spellCheck={false}
        value={known}
        placeholder={example}
        onChange={({ target }) => setKnown(target.value)}
      />
      {known === "" && example !== "" ? (
        <Button size="small" tone="quiet" onClick={() => setKnown(example)}>
          Insert what this tool declares
        </Button>
      ) : null}
      <label htmlFor={`${id}e`}>Session opened from</label>
      <select id={`${id}e`} value={surface} onChange={({ target }) => setSurface(SURFACES.find((one) => one === target.value) ?? "api")}>
        {SURFACES.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <Button type="submit" tone="first" busy={busy}>
        Decide
      </Button>
    </form>
  );
}

/** The chosen agent, action and arguments. Until somebody types, the arguments are a skeleton from the tool's schema. */
function useAction(given: string) {
  const agents = useQuery("agents", { query: { limit: 500 } }).value?.items ?? [];
  const [agent, setAgent] = useState(given);
  const [action, setAction] = useState("");
  const [typed, setArgs] = useState<string | null>(null);
  const found = agents.find(({ name }) => name === agent) ?? agents[0];
  const actions = [...(found?.tools ?? []).map((tool) => `tool:${tool}`), "respond", "model"];
  const wanted = action === "" ? (actions[0] ?? "respond") : action;
  const definition = useQuery(found === undefined ? null : "agent", { params: { agent: found?.name ?? "" } });
  const tool = definition.value?.tools.find(({ name }) => `tool:${name}` === wanted);
  return {
    agents: agents.map(({ name }) => name),
    chosen: found?.name ?? agent,
    actions,
    wanted,
    args: typed ?? skeleton(tool?.input ?? {}),
    /** Of what else the policies may read about a call of it; empty where it declares nothing. */
    example: Object.keys(tool?.facts ?? {}).length === 0 ? "" : JSON.stringify(tool?.facts, null, 2),
    /** Not before the tool's schema is known: the skeleton would replace what somebody types. */
    takesArgs: wanted.startsWith("tool:") && !definition.isLoading,
    setAgent: (to: string): void => {
      setAgent(to);
      setAction("");
      setArgs(null);
    },
    setAction: (to: string): void => {
      setAction(to);
      setArgs(null);
    },
    setArgs,
  };
}

function Decided({ told: { verdict, read } }: Readonly<{ told: OperationOutput<"evaluatePolicies"> }>) {
  const kind = String(verdict["kind"]);
  const because = Array.isArray(verdict["because"]) ? verdict["because"].map((one) => policyRef(policyId(String(one)))) : [];
  const reason = typeof verdict["reason"] === "string" ? verdict["reason"] : null;
  return (
    <>
      <p className={css.verdict}>
        <Tag tone={TONES[kind] ?? "plain"}>{kind}</Tag> {because.length === 0 ? "by no policy" : <Policies of={because} />}
      </p>
      {reason === null ? null : <p>{sentence(reason)}</p>}
      <h2>The verdict</h2>
      <CodeView text={escapeHiddenLines(JSON.stringify(verdict, null, 2))} language="json" label="The verdict" />
      <h2>Data it read</h2>
      {Object.keys(read).length === 0 ? (
        <p>Nothing: the agent and the action alone decided it.</p>
      ) : (
        <CodeView text={escapeHiddenLines(JSON.stringify(read, null, 2))} language="json" label="Data it read" />
      )}
    </>
  );
}

function readArgs(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null; // parsed JSON is JSON
  } catch {
    return null;
  }
}

/** A JSON object with the required arguments of a tool, to be filled in. */
function skeleton(schema: JsonObject): string {
  const properties = objectIn(schema["properties"]);
  const required = Array.isArray(schema["required"]) ? schema["required"].map(String) : [];
  return JSON.stringify(Object.fromEntries(required.map((name) => [name, example(objectIn(properties[name]))])), null, 2);
}
const objectIn = (value: unknown): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}; // within a JSON Schema
function example(schema: JsonObject): Json {
  const [first] = Array.isArray(schema["enum"]) ? schema["enum"] : [];
  if (first !== undefined) return first;
  const of: Readonly<Record<string, Json>> = { integer: 1, number: 1, boolean: false, array: [], object: {} };
  return of[String(schema["type"])] ?? "x";
}
