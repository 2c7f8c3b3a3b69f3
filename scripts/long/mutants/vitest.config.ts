/** The project's tests on one mutant: the source is changed while it is loaded, and the tree stays as it is. */
import { join } from "node:path";
import { mergeConfig } from "vitest/config";
import own from "../../../vitest.config.ts";
import { MUTANTS } from "./list.ts";

const ROOT = join(import.meta.dirname, "../../..");
const mutant = MUTANTS.find(({ lie }) => lie === process.env["ORGATE_MUTANT"]);
if (mutant === undefined) throw new Error("ORGATE_MUTANT names no mutant");

export default mergeConfig(own, {
  root: ROOT,
  test: { fsModuleCache: false }, // or one mutant's source would be another's, and everybody's
  plugins: [
    {
      name: "mutant",
      enforce: "pre",
      transform: (code: string, id: string) =>
        id.split("?")[0] === join(ROOT, mutant.file) ? code.replace(mutant.from, () => mutant.to) : null,
    },
  ],
});
