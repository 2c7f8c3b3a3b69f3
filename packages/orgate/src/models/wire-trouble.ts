export type ModelTrouble = Readonly<{
  detail: string;
  status: number | null;
  retryAfterMs: number | null;
  /** It passes by itself. */
  transient: boolean;
  /** The reply had begun, or may have: what it used is not known. */
  broke: boolean;
  /** Worth another try: transient, or a reply that broke off. */
  again: boolean;
  /** Nobody was there to answer. */
  unreached?: boolean;
}>;

/** Ours: thrown where no library has an error of its own. */
export class WireTrouble extends Error {
  override readonly name = "WireTrouble";
  readonly trouble: ModelTrouble;
  constructor(trouble: Partial<ModelTrouble> & Readonly<{ detail: string }>) {
    super(trouble.detail);
    this.trouble = { status: null, retryAfterMs: null, transient: false, broke: true, again: false, ...trouble };
  }
}
