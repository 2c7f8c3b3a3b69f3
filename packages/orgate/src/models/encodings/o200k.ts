/** In a file of its own, which is loaded when the first text is counted by it. */
export { countTokens } from "gpt-tokenizer/encoding/o200k_base";
