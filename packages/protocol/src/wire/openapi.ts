/**
 * The description of `/api/v1`, OpenAPI 3.1, made from the table of operations: it cannot say anything else than what the server decodes.
 * W-4 the description is valid OpenAPI 3.1, has every operation of the table, and each one's sentence, schemas and problems.
 */

import type { Json, JsonObject } from "@orgate/core/vocab";
import * as z from "zod";
import { API, IDEMPOTENCY_KEY, idempotencyKey, type Operation } from "./operation.ts";
import { OPERATION_NAMES, OPERATIONS } from "./operations.ts";
import { PROBLEM_MEDIA_TYPE, problemSchema } from "./problem.ts";

const TAGS: Readonly<Record<string, string>> = {
  server: "The server itself: health, metrics, who is asking.",
  agents: "What agents are and do; running them.",
  sessions: "Conversations: opening, following, speaking in them.",
  approvals: "What waits for people.",
  work: "Work as a whole: breakers and halts.",
  policies: "What decides.",
  journal: "What proves it.",
};

export function openApi(version: string): JsonObject {
  const paths: Record<string, Record<string, Json>> = {};
  for (const name of OPERATION_NAMES) {
    const route: Operation = OPERATIONS[name];
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(name, route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Orgate",
      version,
      summary: "Agents propose, policies permit, the journal proves.",
      description: "Every read and write is decided by the policies on the caller. Errors are problems of RFC 9457.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: API }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ key: [] }, { session: [] }],
    paths,
    components: {
      schemas: { Problem: schemaOf(problemSchema, "output") },
      responses: {
        Problem: {
          description: "What went wrong (RFC 9457).",
          content: { [PROBLEM_MEDIA_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } },
        },
      },
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "An API key: `orgate keys create`." },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "orgate_session",
          description: "A sign-in; what changes something also needs the CSRF token.",
        },
      },
    },
  };
}

function operation(name: string, route: Operation): Json {
  const parameters = [
    ...parametersOf(route.params, "path"),
    ...parametersOf(route.query, "query"),
    ...(route.idempotencyKey
      ? [
          {
            name: IDEMPOTENCY_KEY,
            in: "header",
            required: true,
            description: "The same key for the same request is done once.",
            schema: schemaOf(idempotencyKey, "input"),
          },
        ]
      : []),
  ];
  return {
    operationId: name,
    tags: [route.tag],
    summary: route.summary,
    ...(route.act === "open" ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(isNothing(route.body)
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: schemaOf(route.body, "input") } } } }),
    responses: {
      [String(route.status)]: { description: route.summary, content: contentOf(route) },
      default: { $ref: "#/components/responses/Problem" },
    },
    "x-orgate-act": typeof route.act === "string" ? route.act : { ...route.act },
  };
}

function contentOf({ answers }: Operation): Json {
  switch (answers.kind) {
    case "json":
      return { "application/json": { schema: schemaOf(answers.schema, "output") } };
    case "events":
    case "ui-stream":
      return { "text/event-stream": { schema: { type: "string" } } };
    case "text":
      return { [answers.mediaType]: { schema: { type: "string" } } };
  }
}

function parametersOf(schema: z.ZodType, place: "path" | "query"): readonly Json[] {
  const { properties = {}, required = [] } = schemaOf(schema, "input") as Readonly<{
    properties?: Readonly<Record<string, Json>>;
    required?: readonly string[];
  }>;
  return Object.entries(properties).map(([name, one]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: one,
  }));
}

const isNothing = (schema: z.ZodType): boolean => schema instanceof z.ZodUndefined;

/** Written out each time it is used: a reference inside one schema would point into the whole description. */
function schemaOf(schema: z.ZodType, io: "input" | "output"): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, reused: "inline", unrepresentable: "any" });
  return rest as JsonObject;
}
