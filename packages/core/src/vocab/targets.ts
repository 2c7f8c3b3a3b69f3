/** Values of the arguments that a tool marks as targets, by argument; empty where one was not given. */
export type Targets = Readonly<Record<string, readonly string[]>>;
