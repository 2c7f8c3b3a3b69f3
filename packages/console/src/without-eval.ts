/** Makes decoders interpreted, not compiled: this page runs no code generated at run time (O-2). Imported first, since decoders are built at import. */
import { config } from "zod";

config({ jitless: true });
