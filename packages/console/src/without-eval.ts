/** Decoders are interpreted, not compiled: this page runs no code that is made at run time (O-2). Imported first, since decoders are made at import. */
import { config } from "zod";

config({ jitless: true });
