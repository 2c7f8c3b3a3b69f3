/** Loaded before a process of a deliberately broken build (`node --import`). */
import { breakBuild, isBreak } from "@orgate/e2e/breaks";

const name = process.env.ORGATE_LAB_BROKEN ?? "";
if (!isBreak(name)) throw new Error(`there is no broken build \`${name}\``);
breakBuild(name);
