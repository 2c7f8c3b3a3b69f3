import { expect, test } from "vitest";
import { toConfig } from "../../../config/config.ts";
import { watchedPlaces } from "./dev.ts";

test("W-33 files of own formats and the module that brings them are watched, wherever they lie", () => {
  const read = toConfig(
    { project: { name: "p", agents: ["*.md", "people/*.md"] }, ports: { module: "lib/ports.ts" } },
    "/p",
    "/p/orgate.toml",
  );
  if (read.kind !== "config") throw new Error(read.issue.detail);
  const places = watchedPlaces(read.config);
  expect(places.map(({ place }) => place)).toEqual(expect.arrayContaining(["/p", "/p/people", "/p/lib"]));
  const own = places.find(({ place }) => place === "/p")?.only;
  expect(["guide.md", "orgate.toml", "notes.txt"].map((name) => own?.(name))).toEqual([true, true, false]);
});
