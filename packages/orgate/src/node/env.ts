/** Environment variables, as a value that callers pass on: nothing below the command line reads `process.env` itself. */
export type Env = Readonly<Record<string, string | undefined>>;
