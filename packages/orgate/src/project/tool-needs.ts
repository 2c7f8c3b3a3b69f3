/**
 * Requirements of a manifest on this machine before its tool can run. A manifest that is well written is not yet one that works.
 *
 * T-26 a program that is not installed, a missing executor and an MCP server that the project does not have are reported before a run.
 */
import { FaultError } from "@orgate/core";
import type { FileProblem, ManifestFile } from "@orgate/toolclad";
import { findProgram, PROGRAM_PATH } from "@orgate/toolclad/running";
import { findTomlPosition } from "../files/toml-text.ts";
import { mcpServers } from "../mcp/config.ts";
import { sha256 } from "../node/crypto.ts";
import type { Env } from "../node/env.ts";
import { orgateHome } from "../store/keyring.ts";
import type { ProjectManifests } from "./project-manifests.ts";

type Place = Readonly<{ root: string; env: Env }>;

/** One problem at most for each manifest that can be read. */
export const findMissingNeeds = (
  manifests: readonly ManifestFile[],
  context: ProjectManifests["context"],
  place: Place,
): readonly FileProblem[] =>
  manifests.flatMap((manifest) => {
    const missing = findMissingNeed(manifest, context, place);
    if (missing === null) return [];
    const { at, detail, hint } = missing;
    return [{ file: manifest.file, ...findTomlPosition(manifest.text, at), detail, hint, tool: manifest.contract.manifest.tool.name }];
  });

type Missing = Readonly<{ at: readonly string[]; detail: string; hint: string }>;

function findMissingNeed(
  { contract: { manifest } }: ManifestFile,
  context: ProjectManifests["context"],
  { root, env }: Place,
): Missing | null {
  const { backend, tool } = manifest;
  switch (backend.kind) {
    case "http":
      return null;
    case "mcp": {
      const found = findServers(root, env).find(({ name }) => name === backend.server);
      if (found?.kind === "usable") return null;
      const detail = `there is no MCP server \`${backend.server}\`${found === undefined ? "" : ` that can be used: ${found.detail}`}`;
      return { at: ["mcp", "server"], detail, hint: "describe it in .mcp.json, then `orgate mcp trust`" };
    }
    case "executor": {
      const file = context.world.places.resolve(backend.file, "be-a-file");
      const why = file.kind === "refused" ? file.why : whyNoProgram(file.absolute, root, PROGRAM_PATH);
      return why === null
        ? null
        : { at: ["tool", "executor"], detail: `\`${backend.file}\` ${why}`, hint: "see that it is there and may be executed" };
    }
    case "command": {
      const pieces = backend.command.items[0]?.pieces ?? [];
      const name = pieces.map((piece) => (piece.kind === "text" ? piece.text : "")).join("");
      if (name === "" || pieces.some(({ kind }) => kind !== "text")) return null; // an argument says which
      const path = tool.orgate.sandbox === "none" ? (env["PATH"] ?? PROGRAM_PATH) : PROGRAM_PATH;
      const why = whyNoProgram(name, root, path);
      return why === null
        ? null
        : { at: ["command", "template"], detail: `\`${name}\` ${why}`, hint: "install it, or name another program" };
    }
  }
}

const whyNoProgram = (name: string, root: string, path: string): string | null =>
  findProgram(name, root, path) !== null
    ? null
    : name.includes("/")
      ? "is no program on this machine"
      : `is not installed (looked in ${path})`;

function findServers(root: string, env: Env) {
  try {
    return mcpServers({ root, home: orgateHome(env) }, sha256).servers;
  } catch (error) {
    if (error instanceof FaultError) return [];
    throw error;
  }
}
