import { defineAgent } from "eve";
import { modelV4 } from "./lib/ai-model.ts"; // `lib` is copied from ../../src when the app is built
import { work } from "./lib/server.ts";

export default defineAgent({ model: modelV4(work), modelContextWindowTokens: 1_000_000_000 });
