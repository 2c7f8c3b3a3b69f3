/** An estimate of tokens, right for scripts without spaces too. Counted once per message, when it is made. */
const WIDE = /[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]|[\ud840-\ud8bf][\udc00-\udfff]/g;

export function estimateTokens(text: string): number {
  if (isAscii(text)) return Math.ceil(text.length / 4);
  const wide = text.match(WIDE)?.length ?? 0;
  return Math.ceil(wide / 1.1 + (text.length - wide) / 3.2); // measured against byte-pair tokenizers: CJK about one each, other scripts denser than English
}

const isAscii = (text: string): boolean => !/[^\x00-\x7f]/.test(text);

/** What one message costs beside its text: role, separators, ids. */
export const PER_MESSAGE = 6;
