/**
 * The packages of the providers. They are not installed with `orgate`: most people use one of them, and one that is there is loaded by the first request (decision 0056).
 */
import { findPackageJSON } from "node:module";
import { peerVersion } from "../node/version.ts";

/** M-3 Null if the package is installed, otherwise the reason with the command that installs it. `from`: the address of the file that imports it. */
export function explainMissingPackage(name: string, from: string = import.meta.url): string | null {
  if (isInstalled(name, from)) return null;
  return `its package \`${name}\` is not installed: run \`npm install ${name}@${peerVersion(name)}\` where orgate is installed (with \`-g\` if it is global)`;
}

function isInstalled(name: string, from: string): boolean {
  try {
    return findPackageJSON(name, from) !== undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND") return false;
    throw error;
  }
}
