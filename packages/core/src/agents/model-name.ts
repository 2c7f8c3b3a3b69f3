const MODEL = /^[a-z0-9][a-z0-9-]*\/[\x21-\x7e]{1,128}$/;

/** `provider/name`. */
export const isModelName = (model: unknown): model is string => typeof model === "string" && MODEL.test(model);
