/** Where a project says that its agents and tools lie, beside the usual folders: what is put there decides, or is run, the next time. */
import type { Config } from "./config.ts";

/** A glob by the folder that it looks into; one that looks into the project's own folder names no place. */
export const placesOf = (patterns: readonly string[]): readonly string[] =>
  patterns.flatMap((pattern) => {
    const steps = pattern.split("/");
    const glob = steps.findIndex((step) => /[*?[{]/.test(step));
    const fixed = (glob === -1 ? steps : steps.slice(0, glob)).join("/");
    return fixed === "" || fixed === "." ? [] : [fixed];
  });

export const decidingPlaces = ({ agents, tools }: Pick<Config, "agents" | "tools">): readonly string[] => placesOf([...agents, ...tools]);
