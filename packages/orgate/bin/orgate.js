#!/usr/bin/env node
// Plain JavaScript on purpose: an older Node must be able to read it far enough to say what is wrong.
import { existsSync, lstatSync, mkdirSync, statSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

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
  keepCompiled();
  const { main } = await import(isCompiled ? compiled.href : new URL("../src/main.ts", import.meta.url).href);
  const code = await main(process.argv.slice(2));
  if (typeof code === "number") process.exitCode = code;
}

/**
 * R-9 V8's code of these files is kept beside a person's keys, and read instead of being made at every start (decision 0049). Only where that folder is there
 * and nobody else may write to it or to the cache in it: what lies in the cache is run. Whatever is wrong with it, the start is slower and nothing else.
 */
function keepCompiled() {
  const home = process.env.ORGATE_HOME || join(homedir(), ".orgate");
  const cache = join(home, "cache");
  try {
    if (!isOursAlone(statSync(home))) return;
    if (!existsSync(cache)) mkdirSync(cache, { mode: 0o700 }); // Node would make it as open as the person's umask
    if (isOursAlone(lstatSync(cache))) module.enableCompileCache?.(cache);
  } catch {
    // no such folder yet, or none to write to
  }
}

function isOursAlone(found) {
  return found.isDirectory() && (process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o022) === 0));
}
