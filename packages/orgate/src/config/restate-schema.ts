/** `restate` of `[cluster]`: the Restate server that asks workers to drive sessions. */
import { lazily } from "@orgate/core/vocab";
import * as z from "zod";

export type RestateConfig = Readonly<{
  /** Where messages are sent, and where workers are registered. */
  ingress: string;
  admin: string;
  /** Where Restate reaches the workers, if not at the address of the one that registers: a load balancer. */
  endpoint: string | null;
  /** Where a worker listens for Restate. */
  host: string;
  port: number;
  /** Public keys of a Restate that signs its requests; empty: whoever reaches the worker may ask it to look at a session. */
  identity: readonly string[];
}>;

const address = lazily(() =>
  z
    .string()
    .refine(isServerAddress, "must be an address such as http://127.0.0.1:8080, without a path")
    .transform((text) => text.replace(/\/$/, "")),
);

export const restateSchema = lazily(() =>
  z
    .strictObject({
      ingress: address(),
      admin: address(),
      endpoint: address().optional(),
      host: z.string().min(1).max(253).default("127.0.0.1"),
      port: z.int().min(0).max(65_535).default(9080),
      identity: z.array(z.string().regex(/^publickeyv1_[1-9A-HJ-NP-Za-km-z]+$/, "must be `publickeyv1_…`")).default([]),
    })
    .optional(),
);

export const toRestateConfig = (written: z.infer<ReturnType<typeof restateSchema>>): RestateConfig | null =>
  written === undefined ? null : Object.freeze({ ...written, endpoint: written.endpoint ?? null });

function isServerAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  return (url?.protocol === "http:" || url?.protocol === "https:") && url.username === "" && url.pathname === "/" && url.search === "";
}
