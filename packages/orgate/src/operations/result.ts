/** The result of an operation, before any transport has a part in it. */

/** Resolves when there is room for more, and when the reader has gone; never rejects. */
export type Sink = Readonly<{ write(text: string): Promise<void> }>;

export type OperationResult = Readonly<
  /** `isProvisional`: a later call may answer differently, so it is not stored under an idempotency key. `isFailing`: health checks that do not hold. */
  | { kind: "json"; value: unknown; isProvisional?: boolean; isFailing?: boolean }
  | { kind: "text"; mediaType: string; text: string }
  | { kind: "stream"; mediaType: string; headers?: Readonly<Record<string, string>>; write(sink: Sink, gone: AbortSignal): Promise<void> }
>;

export const json = (value: unknown): OperationResult => ({ kind: "json", value });
export const provisional = (value: unknown): OperationResult => ({ kind: "json", value, isProvisional: true });
/** The reply to an intent. Provisional while nobody has taken it from the inbox: asked again with the same key, its entry is there. */
export const intentResult = (sent: Readonly<{ entry: unknown }>): OperationResult => (sent.entry === null ? provisional(sent) : json(sent));
