/** The agent formats of Orgate. A pattern that no format claims is read as modules. */

import { symbiFormat } from "../symbi/symbi-format.ts";
import type { AgentFormat } from "./format.ts";
import { moduleFormat } from "./modules.ts";
import { tomlFormat } from "./toml.ts";

export const AGENT_FORMATS: readonly AgentFormat[] = [moduleFormat, tomlFormat, symbiFormat];
