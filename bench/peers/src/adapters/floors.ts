/**
 * The other floors.
 * The inserts are Node's own SQLite, WAL, synchronous FULL, one transaction each: one before the effect and one after it, which is what an
 * effect that must neither be lost nor doubled needs at the least.
 * The decision is the official engine with policies it has parsed before: https://docs.cedarpolicy.com and the types of @cedar-policy/cedar-wasm.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as cedar from "@cedar-policy/cedar-wasm/nodejs";
import type { Open } from "../adapter.ts";
import { policiesText } from "../policies.ts";
import { argsOf } from "../workload.ts";
import { loop } from "./bare-loop.ts";

export const bareInserts: Open = async ({ work, folder }) => {
  const db = new DatabaseSync(join(folder, "bare.db"));
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE bare (id INTEGER PRIMARY KEY, text TEXT NOT NULL)");
  const insert = db.prepare("INSERT INTO bare (text) VALUES (?)");
  const put = (text: string): void => void insert.run(text);
  return { run: () => loop(work, put, put), close: async () => db.close() };
};

export const rawCedar: Open = async ({ policies }) => {
  const parsed = cedar.preparsePolicySet("bench", {
    staticPolicies: policiesText(policies, { action: 'Action::"lookup"', args: "context.input", person: "User" }),
  });
  if (parsed.type === "failure") throw new Error(parsed.errors[0]?.message);
  const ask = (n: number): void => {
    const answer = cedar.statefulIsAuthorized({
      principal: { type: "User", id: "anonymous" },
      action: { type: "Action", id: "lookup" },
      resource: { type: "Resource", id: "agent" },
      context: { input: argsOf(n), session: { call_count: n } },
      preparsedPolicySetId: "bench",
      entities: [],
      validateRequest: false,
    });
    if (answer.type === "failure" || answer.response.decision !== "allow") throw new Error("a look-up was not allowed");
  };
  return {
    run: () => Promise.reject(new Error("a decision is no loop")),
    close: async () => {},
    decide(times) {
      for (let n = 1; n <= times; n += 1) ask(n);
    },
  };
};
