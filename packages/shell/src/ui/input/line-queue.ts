/** Lines that were sent before a server could take them. They go out in order, one after the other. */
export class LineQueue {
  readonly #lines: string[] = [];
  #isSending = false;

  add(text: string): void {
    this.#lines.push(text);
  }
  isEmpty(): boolean {
    return this.#lines.length === 0;
  }
  isSending(): boolean {
    return this.#isSending;
  }
  async drain(isReady: () => boolean, send: (text: string) => Promise<void>): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      while (isReady()) {
        const text = this.#lines.shift();
        if (text === undefined) break;
        await send(text);
      }
    } finally {
      this.#isSending = false;
    }
  }
}
