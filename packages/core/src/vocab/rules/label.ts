import { type Label, label } from "../ids.ts";

/** Label of a tool's output unless its definition says otherwise. */
export const UNTRUSTED: Label = label("untrusted");
