/** The signs and words of a file, comments among them: for what goes by signs and not by meaning (depth, layout, the word at a place). */
export type Token = Readonly<{
  kind: "word" | "number" | "string" | "secret" | "sign" | "comment" | "odd";
  text: string;
  at: number;
  /** Line breaks between it and what stands before it. */
  breaks: number;
}>;

const PATTERN =
  /(?<blank>[ \t\r\n]+)|(?<comment>(?:\/\/|#)[^\n\r]*|\/\*[\s\S]*?(?:\*\/|$))|(?<string>"""[\s\S]*?"""|"(?:[^"\\\n\r]|\\.)*"|"(?:[^"\\]|\\.)*"(?![A-Za-z0-9_]))|(?<secret>vault:\/\/[A-Za-z0-9_./-]+)|(?<number>[0-9][0-9_]*(?:\.[0-9]+)?(?:\.(?:milli)?(?:second|minute|hour|day|week|month|year)s?(?![A-Za-z0-9_])|[A-Za-z]+)?)|(?<word>[A-Za-z_][A-Za-z0-9_]*)|(?<sign>\|\||&&|==|!=|<=|>=|=>|->|\+=|-=|\*=|\/=|%=|[{}()[\],;:.=<>+\-*/%!?])|(?<odd>\\[\s\S]|[\s\S])/gu;

export const symbiTokens = (text: string): readonly Token[] => [...eachToken(text)];

export function* eachToken(text: string): Generator<Token> {
  let breaks = 0;
  for (const match of text.matchAll(PATTERN)) {
    const [whole] = match;
    const { blank, ...groups } = match.groups ?? {};
    if (blank !== undefined) {
      breaks = blank.split(/\r\n|\r|\n/).length - 1;
      continue;
    }
    const kind = KINDS.find((k) => groups[k] !== undefined) ?? "odd";
    yield { kind, text: kind === "comment" ? whole.trimEnd() : whole, at: match.index, breaks };
    breaks = 0;
  }
}
const KINDS = ["comment", "string", "secret", "number", "word", "sign", "odd"] as const;
