export * from "./codec.ts";
export * from "./port.ts";
export * from "./seal.ts";
export * from "./summary.ts";
export * from "./unseal.ts";
