import { type Label, label } from "../ids.ts";

/** What a tool's output carries unless its definition says otherwise. */
export const UNTRUSTED: Label = label("untrusted");
