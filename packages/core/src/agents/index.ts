export * from "./define-agent.ts";
export { defineMiddleware, type MiddlewareDefinition, middlewareOf } from "./define-middleware.ts";
export * from "./define-tool.ts";
export type { StandardSchema } from "./standard-schema.ts";
