/** The format of manifests, setting by setting: what is not named here is refused. `[tool.orgate]`, `target`, `target_per`, `of` and `option` are ours. */
import { lazily, TARGET_KINDS } from "@orgate/core/vocab";
import * as z from "zod";

const text = lazily(() => z.string());
const filled = lazily(() => z.string().trim().min(1, "must not be empty"));
const count = lazily(() => z.int().min(1));
const tier = lazily(() => z.enum(["low", "medium", "high"]));
const scalar = lazily(() => z.union([z.string(), z.number(), z.boolean()]));

export const argSchema = lazily(() =>
  z.strictObject({
    position: z.int().min(0).optional(),
    required: z.boolean().default(false),
    type: filled(),
    description: text().default(""),
    allowed: z.array(z.union([z.string(), z.number()]).transform(String)).optional(),
    default: scalar().optional(),
    pattern: text().optional(),
    sanitize: z
      .array(z.enum(["injection", "text"]))
      .min(1)
      .optional(),
    min: z.number().optional(),
    max: z.number().optional(),
    /** Of a `number`, before `min` and `max`. */
    min_float: z.number().optional(),
    max_float: z.number().optional(),
    clamp: z.boolean().default(false),
    schemes: z
      .array(z.string().regex(/^[A-Za-z][A-Za-z0-9+.-]*$/, "must be a scheme such as https"))
      .min(1)
      .optional(),
    scope_check: z.boolean().default(false),
    block_internal: z.boolean().default(false),
    feeds_decision: z.boolean().default(false),
    /** Ours: policies learn whether the user named it, and more (facts about arguments). `true`: of the kind that its type suggests. */
    target: z.union([z.boolean(), z.enum(TARGET_KINDS)]).optional(),
    /** Ours, of `target = "number"`: the argument for which totals are counted apart. */
    target_per: filled().optional(),
    /** Ours: the kind of thing that it stands for, of which other tools make records. */
    of: z
      .string()
      .regex(/^[a-z][a-z0-9_-]{0,63}$/, "must be a-z, 0-9, _ and -, a letter first")
      .optional(),
    /** Ours: its value may begin with a dash. */
    option: z.boolean().default(false),
  }),
);
export type ArgDef = z.infer<ReturnType<typeof argSchema>>;

/** Of a custom type: the same settings, over a built-in `base`. */
export const customTypeSchema = lazily(() =>
  argSchema().partial().omit({ type: true, position: true, required: true, default: true }).extend({
    base: filled(),
    default: scalar().optional(),
  }),
);
export const customTypesSchema = lazily(() =>
  z.strictObject({
    types: z.record(z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/), customTypeSchema()).default({}),
  }),
);

/** Orgate's settings beside the format; the default of each is the strictest. */
const orgateSchema = lazily(() =>
  z.strictObject({
    repeat: z.enum(["read", "idempotent", "once"]).default("once"),
    effects: z
      .array(z.enum(["read", "write", "execute", "network", "spend"]))
      .min(1)
      .optional(),
    labels: z.array(text()).optional(),
    /** What its output says about things, as `records` of a tool in code; checked there. */
    records: z.array(z.record(z.string(), z.json())).optional(),
    /** `none` runs without a sandbox, and must be permitted. */
    sandbox: z.enum(["process", "none"]).default("process"),
    /** Hosts that it may reach beside those in its arguments: all of them in scope. */
    hosts: z.array(filled()).default([]),
    /** Below the project's folder. */
    reads: z.array(filled()).default([]),
    writes: z.array(filled()).default([]),
    /** Variables of its process; secrets belong here, never into the command. */
    env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, "must be the name of a variable"), text()).default({}),
    /** Text for its stdin. */
    stdin: text().optional(),
    memory_mb: count().max(1_048_576).default(512),
    processes: count().max(65_536).default(64),
    file_mb: count().max(1_048_576).default(64),
    open_files: count().max(1_048_576).default(256),
    output_bytes: count()
      .max(64 * 1024 * 1024)
      .default(1024 * 1024),
  }),
);

const toolSchema = lazily(() =>
  z.strictObject({
    name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 of A-Z, a-z, 0-9, _ and -"),
    version: filled(),
    binary: text().default(""),
    description: filled(),
    mode: z.enum(["oneshot", "session", "browser"]).default("oneshot"),
    timeout_seconds: count().max(86_400).default(30),
    risk_tier: tier().default("low"),
    human_approval: z.boolean().default(false),
    dispatch: z.enum(["exec", "callback"]).optional(),
    cedar: z
      .strictObject({
        resource: z
          .string()
          .regex(/^[A-Za-z_][A-Za-z0-9_]*(?:::[A-Za-z_][A-Za-z0-9_]*)*$/, "must be a type such as PenTest::ScanTarget")
          .optional(),
        action: filled().optional(),
      })
      .prefault({}),
    evidence: z
      .strictObject({ output_dir: filled().optional(), capture: z.boolean().default(true), hash: z.literal("sha256").default("sha256") })
      .prefault({}),
    orgate: orgateSchema().prefault({}),
  }),
);

const commandSchema = lazily(() =>
  z.strictObject({
    template: filled().optional(),
    exec: z.array(text()).min(1).optional(),
    executor: filled().optional(),
    defaults: z.record(z.string(), scalar()).default({}),
    mappings: z.record(z.string(), z.record(z.string(), text())).default({}),
    conditionals: z.record(z.string(), z.strictObject({ when: filled(), template: filled() })).default({}),
  }),
);

const status = lazily(() => z.int().min(100).max(599));
const httpSchema = lazily(() =>
  z.strictObject({
    method: z.enum(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]),
    url: filled(),
    headers: z.record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "must be the name of a header"), text()).default({}),
    body_template: text().optional(),
    success_status: z.array(status()).default([]),
    error_status: z.array(status()).default([]),
  }),
);

const mcpSchema = lazily(() => z.strictObject({ server: filled(), tool: filled(), field_map: z.record(z.string(), filled()).default({}) }));

const ownCommand = lazily(() => ({
  description: text().default(""),
  risk_tier: tier().default("low"),
  human_approval: z.boolean().default(false),
  args: z.record(z.string(), argSchema()).default({}),
}));
const sessionSchema = lazily(() =>
  z.strictObject({
    startup_command: filled(),
    ready_pattern: filled(),
    startup_timeout_seconds: count().default(30),
    idle_timeout_seconds: count().default(300),
    session_timeout_seconds: count().default(1800),
    max_interactions: count().default(100),
    interaction: z
      .strictObject({
        input_sanitize: z.array(text()).default([]),
        output_max_bytes: count().default(1024 * 1024),
        output_wait_ms: count().default(2000),
      })
      .prefault({}),
    commands: z
      .record(z.string(), z.strictObject({ pattern: filled(), extract_target: z.boolean().default(false), ...ownCommand() }))
      .default({}),
  }),
);
const browserSchema = lazily(() =>
  z.strictObject({
    engine: text().default("cdp"),
    headless: z.boolean().default(true),
    connect: z.enum(["launch", "live"]).default("launch"),
    extract_mode: z.enum(["accessibility_tree", "html", "text"]).default("accessibility_tree"),
    defaults: z.strictObject({ extract_mode: z.enum(["accessibility_tree", "html", "text"]).optional() }).optional(),
    startup_timeout_seconds: count().default(30),
    session_timeout_seconds: count().default(1800),
    idle_timeout_seconds: count().default(300),
    max_interactions: count().default(100),
    scope: z
      .strictObject({
        allowed_domains: z.array(text()).default([]),
        blocked_domains: z.array(text()).default([]),
        allow_external: z.boolean().default(false),
      })
      .prefault({}),
    commands: z.record(z.string(), z.strictObject(ownCommand())).default({}),
    state: z.strictObject({ fields: z.array(text()).default([]) }).prefault({}),
  }),
);

const outputSchema = lazily(() =>
  z.strictObject({
    format: z.enum(["json", "xml", "csv", "jsonl", "text"]).default("text"),
    parser: filled().optional(),
    envelope: z.boolean().default(true),
    schema: z.record(z.string(), z.json()).optional(),
  }),
);

export const manifestSchema = lazily(() =>
  z.strictObject({
    tool: toolSchema(),
    args: z
      .record(z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, "must be 1 to 64 of A-Z, a-z, 0-9 and _, a letter first"), argSchema())
      .default({}),
    command: commandSchema().optional(),
    http: httpSchema().optional(),
    mcp: mcpSchema().optional(),
    session: sessionSchema().optional(),
    browser: browserSchema().optional(),
    output: outputSchema().prefault({}),
  }),
);
export type WrittenManifest = z.infer<ReturnType<typeof manifestSchema>>;
export type CustomTypes = z.infer<ReturnType<typeof customTypesSchema>>["types"];
