/**
 * `.orgate/constraints.toml`: things that no agent may author in this project, whoever asks and whatever a person approves (S-9: a file that a person puts in place is that person's responsibility). A file of the project's people; no tool writes it.
 *
 * S-9 a setting that is not known, or not understood, is refused with file, line and column, and nothing is authored until it is mended.
 * S-9 a file that is there and cannot be read, a link that leads nowhere among them, is not taken for none.
 */

import { lstatSync } from "node:fs";
import { join } from "node:path";
import { durationWords, FaultError, lowerFirst, suggestNearest } from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import * as z from "zod";
import { readTextFile } from "../files/text-file.ts";
import { findTomlPosition, readToml } from "../files/toml-text.ts";

const CONSTRAINTS = ".orgate/constraints.toml";

/** Weakest first. Those behind `process` are known by name and not supported yet: nothing can have one. */
export const TIERS = ["none", "process", "docker", "gvisor", "firecracker"] as const;
export const RISKS = ["low", "medium", "high"] as const;
/** `changes`: every tool that does more than read; `all`: every tool. */
const AUDITS = ["none", "changes", "all"] as const;

const UNITS: Readonly<Record<string, number>> = { KB: 1 / 1024, MB: 1, GB: 1024, TB: 1024 * 1024 };
const megabytes = z.union([
  z.int().min(1),
  z
    .string()
    .regex(/^[1-9]\d{0,6} ?(?:KB|MB|GB|TB)$/i, 'must be a size such as "512MB"')
    .transform((text) => {
      const [, amount = "0", unit = "MB"] = /^(\d+) ?(\w\w)$/.exec(text) ?? [];
      return Number(amount) * (UNITS[unit.toUpperCase()] ?? 1);
    }),
]);
const span = z
  .string()
  .refine((text) => durationWords(text) !== null, 'must be a time such as "15m" or "1h"')
  .transform((text) => durationWords(text) ?? 0);
/** A tool, an effect, `skill:NAME`, `mcp:SERVER` or `agent:NAME`. */
const capability = z
  .string()
  .regex(/^(?:(?:skill|mcp|agent):)?[A-Za-z0-9_-]{1,128}$/, "must be a tool, an effect, or `skill:NAME`, `mcp:SERVER`, `agent:NAME`");
const action = z.string().regex(/^(?:tool:)?[A-Za-z0-9_-]{1,128}$/, "must be a tool, an effect, or what else an agent does");

const schema = z.strictObject({
  max_memory: megabytes.exactOptional(),
  max_cpu: z.int().min(1).exactOptional(),
  max_tier: z.enum(TIERS).exactOptional(),
  min_security_tier: z.enum(TIERS).exactOptional(),
  required_sandbox: z.enum(TIERS).exactOptional(),
  min_audit_level: z.enum(AUDITS).default("none"),
  forbidden_capabilities: z.array(capability).default([]),
  max_cron_frequency: span.exactOptional(),
  cedar: z
    .strictObject({
      require_schema_verified: z.boolean().default(false),
      require_approval_for_execute: z.boolean().default(false),
      forbid_wildcard_principal: z.boolean().default(false),
      forbid_wildcard_resource_on: z.array(action).default([]),
    })
    .prefault({}),
  toolclad: z
    .strictObject({
      max_risk_tier: z.enum(RISKS).exactOptional(),
      require_evidence_above_tier: z.enum(RISKS).exactOptional(),
      require_scope_check: z.boolean().default(false),
    })
    .prefault({}),
});

/** Sizes in megabytes, times in milliseconds. */
export type Constraints = z.output<typeof schema>;
const NO_CONSTRAINTS: Constraints = schema.parse({});

/** Every setting there is, from the schema itself. */
export function constraintKeys(): readonly string[] {
  const walk = (shape: Readonly<Record<string, unknown>>, before: string): readonly string[] =>
    Object.entries(shape).flatMap(([name, one]) => {
      const inner = innerShape(one);
      return inner === null ? [`${before}${name}`] : walk(inner, `${before}${name}.`);
    });
  return walk(schema.shape, "");
}
function innerShape(one: unknown): Readonly<Record<string, unknown>> | null {
  if (one instanceof z.ZodPrefault) return innerShape(one.unwrap());
  return one instanceof z.ZodObject ? one.shape : null;
}

const HINT = "docs/guide/authoring.md has every setting";

/** Throws `file-bad`: a file that cannot be understood lets nothing through. */
export function readConstraints(root: string): Constraints {
  const file = join(root, CONSTRAINTS);
  const bad = (place: Readonly<{ line: number; column: number }> | null, detail: string, cause?: unknown): FaultError =>
    new FaultError({ kind: "file-bad", file, line: place?.line ?? null, column: place?.column ?? null, detail, hint: HINT }, cause);
  let text: string;
  try {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return NO_CONSTRAINTS;
    text = readTextFile(file, 64 * 1024);
  } catch (error) {
    throw bad(null, errorMessage(error), error);
  }
  const toml = readToml(text);
  if (toml.kind === "not-toml") throw bad(toml, `not TOML: ${toml.detail}`);
  const read = schema.safeParse(toml.value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  if (issue?.code === "unrecognized_keys") {
    const path = [...issue.path, issue.keys[0] ?? ""];
    throw bad(
      findTomlPosition(text, path),
      `there is no setting \`${path.join(".")}\`; ${suggestNearest(path.join("."), [...constraintKeys()])}`,
    );
  }
  const message = issue?.message ?? "not understood";
  throw bad(findTomlPosition(text, issue?.path ?? []), `\`${(issue?.path ?? []).join(".")}\`: ${lowerFirst(message)}`);
}
