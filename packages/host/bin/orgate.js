#!/usr/bin/env node
// Plain JavaScript on purpose: an older Node must be able to read it far enough to say what is wrong.
import { existsSync } from "node:fs";

const major = Number(process.versions.node.split(".")[0]);
const compiled = new URL("../main.js", import.meta.url);
const isCompiled = existsSync(compiled); // the published package; a checkout runs its sources

if (major < 24) {
  const remedy = isCompiled
    ? "install Node 24"
    : "run `npm ci`, then `npm run -s orgate -- …` (the checkout brings Node 24), or install Node 24";
  console.error(`orgate needs Node 24 or newer, this is ${process.version}: ${remedy}`);
  process.exitCode = 1;
} else {
  const { main } = await import(isCompiled ? compiled.href : new URL("../src/main.ts", import.meta.url).href);
  const code = await main(process.argv.slice(2));
  if (typeof code === "number") process.exitCode = code;
}
