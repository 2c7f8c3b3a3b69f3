/**
 * Proposes what a tool should declare, from its name, description and schema. It goes by words alone, so every line says what it goes by and how sure it
 * is; a developer who knows the tool confirms it. Nothing is declared by this: a wrong guess costs a line that is not pasted.
 */
import type { Effect, TargetKind, Tool } from "@orgate/core";
import { listSchemaArguments, type SchemaArgument, toSingular, toWords } from "./schema-arguments.ts";
import { findRecord, type SuggestedRecord } from "./suggest-records.ts";

export type SuggestedTarget = Readonly<{ kind: TargetKind; of?: string; per?: string }>;
export type Declaration = Readonly<{
  effects: readonly Effect[];
  targets: Readonly<Record<string, SuggestedTarget>>;
  outgoing: readonly string[];
  labels: readonly string[];
  records: readonly SuggestedRecord[];
}>;
/** `likely`: the words say so. `guess`: they may say so, or nothing does and this is the careful choice. */
export type Remark = Readonly<{ field: keyof Declaration; about: string; sure: "likely" | "guess"; because: string }>;
export type Suggestion = Readonly<{ tool: string; declaration: Declaration; remarks: readonly Remark[] }>;
export type SuggestTool = Pick<Tool, "name" | "description" | "inputSchema" | "describeOutput">;

type Draft = { -readonly [K in keyof Declaration]: Declaration[K] } & { remarks: Remark[] };

export function suggestDeclaration(tool: SuggestTool): Suggestion {
  const args = listSchemaArguments(tool.inputSchema);
  const draft: Draft = { effects: [], targets: {}, outgoing: [], labels: [], records: [], remarks: [] };
  suggestEffects(tool, args, draft);
  suggestTargets(tool, args, draft);
  suggestOutgoing(args, draft);
  suggestLabels(tool, draft);
  suggestRecords(tool, draft);
  const { remarks, ...declaration } = draft;
  return { tool: tool.name, declaration, remarks };
}

// ── effects ──

const VERBS: Readonly<Record<"read" | "write" | "network" | "spend" | "execute", ReadonlySet<string>>> = {
  read: words(
    "authenticate identify verify get list find search read look show view check track count describe query lookup summarise summarize compare",
  ),
  write: words(
    "create update set change delete remove cancel add write save move archive rename edit apply put insert replace append assign close open freeze unfreeze enable disable exchange return escalate mark label upload book reserve share invite schedule",
  ),
  network: words(
    "send post publish share invite mail email message notify forward reply upload fetch download browse tweet call webhook book",
  ),
  spend: words("pay buy purchase transfer refund charge donate subscribe order checkout tip invest withdraw reship"),
  execute: words("run execute exec eval shell command script deploy"),
};
const PAID = words("payment voucher refund discount purchase subscription");
const OUTSIDE = words("web website internet online page url api http remote");
const MONEY = words("amount price cents euros dollars total fee cost sum budget");

function suggestEffects({ name, description }: SuggestTool, args: readonly SchemaArgument[], draft: Draft): void {
  const [verb = "", ...rest] = toWords(name);
  const said = toWords(description.split(/[.;:]/)[0] ?? "");
  const remark = (effect: Effect, sure: Remark["sure"], because: string): void => {
    if (draft.effects.includes(effect)) return;
    draft.effects = [...draft.effects, effect];
    draft.remarks.push({ field: "effects", about: effect, sure, because });
  };
  const kinds = ["read", "write", "network", "spend", "execute"] as const;
  for (const effect of kinds) if (VERBS[effect].has(toSingular(verb))) remark(effect, "likely", `its name says \`${verb}\``);
  const paid = draft.effects.includes("read") ? undefined : rest.find((word) => PAID.has(toSingular(word)));
  if (paid !== undefined) remark("spend", "guess", `its name says \`${paid}\``);
  if (draft.effects.length === 0)
    for (const effect of kinds)
      if (VERBS[effect].has(toSingular(said[0] ?? ""))) remark(effect, "guess", `its description begins with \`${said[0]}\``);
  const isReading = draft.effects.length === 1 && draft.effects[0] === "read";
  const place = args.find((one) => isHost(one));
  if (place !== undefined) remark("network", "likely", `it takes \`${place.path}\``);
  else if (said.some((word) => OUTSIDE.has(word))) remark("network", "guess", "its description speaks of the network");
  const money = args.find((one) => one.type === "number" && one.words.some((word) => MONEY.has(word)));
  if (money !== undefined && !isReading) remark("spend", "guess", `it takes \`${money.path}\``);
  if (draft.effects.length === 0) remark("execute", "guess", "no word says what it does: this is what a tool without effects is taken for");
}

// ── targets ──

type Rule = Readonly<{ kind: TargetKind; sure: Remark["sure"]; holds(one: SchemaArgument): boolean }>;
const hasWord = (one: SchemaArgument, known: ReadonlySet<string>): boolean => one.words.some((word) => known.has(toSingular(word)));
const isHost = (one: SchemaArgument): boolean =>
  one.type === "text" &&
  (one.format === "uri" || one.format === "hostname" || hasWord(one, words("url uri link host hostname domain website")));
const isText = (one: SchemaArgument): boolean =>
  one.type === "text" && !one.isChoice && one.format !== "date" && one.format !== "date-time";

/** The first that holds. */
const RULES: readonly Rule[] = [
  { kind: "host", sure: "likely", holds: isHost },
  {
    kind: "recipient",
    sure: "likely",
    holds: (one) => isText(one) && (one.format === "email" || hasWord(one, words("email recipient cc bcc"))),
  },
  { kind: "account", sure: "likely", holds: (one) => isText(one) && hasWord(one, words("iban account payee wallet")) },
  { kind: "id", sure: "likely", holds: (one) => isText(one) && hasWord(one, words("id uuid")) },
  { kind: "path", sure: "likely", holds: (one) => isText(one) && hasWord(one, words("path file filename folder directory attachment")) },
  {
    kind: "recipient",
    sure: "guess",
    holds: (one) => isText(one) && hasWord(one, words("to with channel phone user member participant attendee guest")),
  },
  { kind: "id", sure: "guess", holds: (one) => isText(one) && hasWord(one, words("item ticket sku method card")) },
  { kind: "number", sure: "likely", holds: (one) => one.type === "number" && one.words.some((word) => MONEY.has(word)) },
  {
    kind: "number",
    sure: "guess",
    holds: (one) => one.type === "number" && hasWord(one, words("percent quantity count limit room people seat share rate")),
  },
  {
    kind: "text",
    sure: "guess",
    holds: (one) => isText(one) && hasWord(one, words("password title name street postcode zip city address phone place")),
  },
];

function suggestTargets({ name }: SuggestTool, args: readonly SchemaArgument[], draft: Draft): void {
  const reads = draft.effects.every((effect) => effect === "read");
  const [verb = "", ...nouns] = toWords(name).map(toSingular);
  const isItsThing = (one: SchemaArgument): boolean =>
    isText(one) && !MAKING.has(verb) && one.words.length === 1 && nouns.includes(toSingular(one.words[0] ?? ""));
  const rules = [...RULES, { kind: "id", sure: "guess", holds: isItsThing } as const]; // `cancel_order` takes an `order`
  const found = args.flatMap((one) => {
    const rule = rules.find(({ holds }) => holds(one));
    return rule === undefined || (reads && rule.kind === "number") ? [] : [{ one, rule }];
  });
  const aims = found.filter(({ one }) => /^\w+$/.test(one.path));
  const aim = aims.find(({ rule: { kind } }) => kind === "account" || kind === "recipient" || kind === "id")?.one.path;
  draft.targets = Object.fromEntries(
    found.map(({ one, rule: { kind } }): [string, SuggestedTarget] => [
      one.path,
      kind === "id" ? { kind, ...thing(one) } : kind === "number" && aim !== undefined ? { kind, per: aim } : { kind },
    ]),
  );
  for (const { one, rule } of found)
    draft.remarks.push({ field: "targets", about: one.path, sure: rule.sure, because: `\`${one.path}\` sounds like ${NOUNS[rule.kind]}` });
}
/** What these are given is not there yet. */
const MAKING = words("create add write send post save insert append set make say run");
const NOUNS: Readonly<Record<TargetKind, string>> = {
  recipient: "somebody who gets something",
  host: "a place on the network",
  path: "a file",
  account: "an account",
  id: "one thing among others",
  text: "a value that a user would say",
  number: "an amount that a user would say",
};

/** The kind of thing that an id stands for. `id` alone does not say. */
function thing({ words: all }: SchemaArgument): Pick<SuggestedTarget, "of"> {
  const named = all.filter((word) => word !== "id" && word !== "uuid" && word !== "new").map(toSingular);
  return named.length === 0 ? {} : { of: named.join("-") };
}

// ── text that leaves, labels, records ──

const PROSE = words("body text message subject note content comment description title reference caption topic summary");

function suggestOutgoing(args: readonly SchemaArgument[], draft: Draft): void {
  if (!draft.effects.includes("network")) return;
  const found = args.filter((one) => isText(one) && !one.path.includes("[]") && hasWord(one, PROSE));
  draft.outgoing = found.map(({ path }) => path);
  for (const { path } of found)
    draft.remarks.push({ field: "outgoing", about: path, sure: "likely", because: `it reaches others, and \`${path}\` is text` });
}

const STRANGERS = words(
  "mail email message inbox web page document file review comment post chat channel event calendar invitation ticket issue feed news search transcript transaction reference website url description direct",
);
const SECRETS = words("password secret token key credential passport card");
const PERSONAL = words("customer profile person contact traveller patient employee user member address");

/** An output is `untrusted` unless its declaration says otherwise, so nothing here ever takes that away. */
function suggestLabels({ name, description }: SuggestTool, draft: Draft): void {
  const all = [...toWords(name), ...toWords(description)].map(toSingular);
  const isReading = draft.effects.includes("read");
  const put = (about: string, sure: Remark["sure"], because: string): void => {
    draft.labels = [...draft.labels, about];
    draft.remarks.push({ field: "labels", about, sure, because });
  };
  const stranger = all.find((word) => STRANGERS.has(word));
  if (isReading && stranger !== undefined) put("untrusted", "likely", `it returns what others may have written (\`${stranger}\`)`);
  else put("untrusted", "guess", "leave it out (`labels: []`) only if no text of others can stand in its output");
  if (!isReading) return;
  const secret = all.find((word) => SECRETS.has(word));
  const person = all.find((word) => PERSONAL.has(word));
  if (secret !== undefined) put("secret", "guess", `it speaks of \`${secret}\``);
  if (person !== undefined) put("pii", "guess", `it speaks of \`${person}\``);
}

function suggestRecords(tool: SuggestTool, draft: Draft): void {
  if (!draft.effects.includes("read") || draft.effects.some((effect) => effect === "write" || effect === "spend")) return;
  const found = findRecord(tool, (type) => Object.entries(draft.targets).find(([, target]) => target.of === type)?.[0]);
  if (found === null) return;
  draft.records = [found.record];
  draft.remarks.push({ field: "records", about: found.record.type, sure: found.isLikely ? "likely" : "guess", because: found.because });
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}
