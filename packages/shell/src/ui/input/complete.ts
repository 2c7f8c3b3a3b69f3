/**
 * Completion of the line: commands after `/`, agents after `@`, files of the folder in any other word, and after `@`. Pure: the choices
 * are passed in.
 * Every suggestion contains the typed letters in their order; those that begin with them come first, then the shorter.
 */
import type { Line } from "./editor.ts";

export type Choices = Readonly<{
  commands: readonly Offer[];
  agents: readonly Offer[] /** Below a folder, `src/` for one. */;
  files(folder: string): readonly string[];
  /** Completions for the word at that position of a command; null: a file, or anything. */
  argumentOffers(command: string, at: number): readonly Offer[] | null;
}>;
/** The kind of a command's argument: names that the server knows, files, or one of a list. */
export type ArgumentKind = "agent" | "session" | "approval" | "model" | "schedule" | "command" | "file" | "anything" | readonly string[];
export type Offer = Readonly<{ word: string; about: string }>;
export type Completion = Readonly<{ from: number; offers: readonly Offer[]; chosen: number }>;

const MOST = 8;

/** How well a word matches, the lower the better; null if it does not. */
export function matchScore(written: string, word: string): number | null {
  const [want, have] = [written.toLowerCase(), word.toLowerCase()];
  if (have.startsWith(want)) return have.length - want.length;
  let [at, gaps] = [-1, 0];
  for (const c of want) {
    const next = have.indexOf(c, at + 1);
    if (next < 0) return null;
    gaps += next - at - 1;
    at = next;
  }
  return 1_000 + gaps * 10 + have.length;
}

export function rankOffers(written: string, offers: readonly Offer[]): readonly Offer[] {
  return offers
    .flatMap((offer) => {
      const score = matchScore(written, offer.word);
      return score === null ? [] : [{ offer, score }];
    })
    .sort((a, b) => a.score - b.score || (a.offer.word < b.offer.word ? -1 : 1))
    .slice(0, MOST)
    .map(({ offer }) => offer);
}

export function complete({ text, at }: Line, choices: Choices): Completion | null {
  const before = text.slice(0, at);
  const word = /\S*$/.exec(before)?.[0] ?? "";
  const from = at - word.length;
  const offered = (start: number, offers: readonly Offer[]): Completion | null =>
    offers.length === 0 ? null : { from: start, offers, chosen: 0 };
  if (from === 0 && word.startsWith("/"))
    return offered(
      0,
      rankOffers(word.slice(1), choices.commands).map(({ word: name, about }) => ({ word: `/${name}`, about })),
    );
  if (word.startsWith("@")) {
    const agents = rankOffers(word.slice(1), choices.agents).map(({ word: name, about }) => ({ word: `@${name}`, about }));
    if (agents.length > 0 && from === 0) return offered(from, agents);
    return offered(
      from,
      filesFor(word.slice(1), choices).map((file) => ({ word: `@${file}`, about: "" })),
    );
  }
  const [, command, between = ""] = /^\/([a-z][\w-]*)\s+((?:\S+\s+)*)\S*$/i.exec(before) ?? [];
  if (command !== undefined && !between.includes('"')) {
    const taken = choices.argumentOffers(command.toLowerCase(), between.split(/\s+/).length - 1);
    if (taken !== null && taken.length > 0) return offered(from, rankOffers(word, taken));
  }
  return word !== "" && word !== "/"
    ? offered(
        from,
        filesFor(word, choices).map((file) => ({ word: file, about: "" })),
      )
    : null;
}

function filesFor(word: string, { files }: Choices): readonly string[] {
  const cut = word.lastIndexOf("/") + 1;
  const [folder, rest] = [word.slice(0, cut), word.slice(cut)];
  return rankOffers(
    rest,
    files(folder).map((name) => ({ word: name, about: "" })),
  ).map(({ word: name }) => folder + name);
}

export function applyCompletion({ text, at }: Line, { from, offers, chosen }: Completion): Line {
  const word = offers[chosen]?.word ?? "";
  const space = word.endsWith("/") || text[at] === " " ? "" : " ";
  return { text: text.slice(0, from) + word + space + text.slice(at), at: from + word.length + space.length };
}
