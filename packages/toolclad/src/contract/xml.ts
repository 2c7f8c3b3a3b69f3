/** XML as JSON: attributes as `@name`, text as `#text`, elements of one name as a list. No document types: nothing is expanded, nothing is fetched. */
import type { Json } from "@orgate/core/vocab";

type Element = { readonly name: string; readonly fields: Map<string, Json[]>; readonly attributes: Map<string, string>; text: string };

const NAME = "[A-Za-z_:\\u0080-\\uffff][\\w.:\\-\\u0080-\\uffff]*";
const TOKEN = new RegExp(
  `<!--[\\s\\S]*?-->|<!\\[CDATA\\[([\\s\\S]*?)\\]\\]>|<\\?[\\s\\S]*?\\?>|<(!DOCTYPE)[^<>[]*(?:\\[[^\\]]*\\]\\s*)?>|</(${NAME})\\s*>|<(${NAME})((?:\\s+${NAME}\\s*=\\s*(?:"[^"<]*"|'[^'<]*'))*)\\s*(/?)>|([^<]+)`,
  "gy",
);
const ATTRIBUTE = new RegExp(`(${NAME})\\s*=\\s*(?:"([^"<]*)"|'([^'<]*)')`, "g");
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
const MAX_DEPTH = 200;

export function readXml(text: string): Json {
  const document: Element = { name: "", fields: new Map(), attributes: new Map(), text: "" };
  const open: Element[] = [document];
  TOKEN.lastIndex = 0;
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    const top = open.at(-1);
    if (found === null || top === undefined) throw new Error(`at character ${at + 1}`);
    const [, cdata, doctype, closed, opened, attributes = "", alone, plain] = found;
    if (cdata !== undefined) top.text += cdata;
    else if (plain !== undefined) top.text += unescaped(plain);
    else if (closed !== undefined) close(open, closed);
    else if (opened !== undefined) {
      const element: Element = { name: opened, fields: new Map(), attributes: attributesOf(attributes), text: "" };
      open.push(element);
      if (open.length > MAX_DEPTH) throw new Error(`nested deeper than ${MAX_DEPTH}`);
      if (alone === "/") close(open, opened);
    } else if (doctype !== undefined && /\bENTITY\b/i.test(found[0])) throw new Error("it declares entities");
  }
  if (open.length !== 1) throw new Error(`<${open.at(-1)?.name ?? ""}> has no end`);
  if (document.fields.size !== 1 || document.text.trim() !== "") throw new Error("there must be one element that holds all others");
  return jsonOf(document);
}

function close(open: Element[], name: string): void {
  const element = open.pop();
  const parent = open.at(-1);
  if (element === undefined || parent === undefined || element.name !== name) throw new Error(`</${name}> closes nothing`);
  const list = parent.fields.get(name) ?? [];
  list.push(jsonOf(element));
  parent.fields.set(name, list);
}

/** An element with nothing but text is that text. */
function jsonOf({ fields, attributes, text }: Element): Json {
  const plain = text.trim();
  if (fields.size === 0 && attributes.size === 0) return plain;
  const out: Record<string, Json> = Object.create(null);
  for (const [name, value] of attributes) out[`@${name}`] = value;
  for (const [name, list] of fields) out[name] = list.length === 1 ? (list[0] ?? null) : list;
  if (plain !== "") out["#text"] = plain;
  return { ...out };
}

function attributesOf(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, name = "", double, single] of text.matchAll(ATTRIBUTE)) {
    if (found.has(name)) throw new Error(`attribute ${name} stands twice`);
    found.set(name, unescaped(double ?? single ?? ""));
  }
  return found;
}

const unescaped = (text: string): string =>
  text.replace(/&(#x?[0-9a-fA-F]+|\w+);?/g, (whole, body: string) => {
    const code = body.startsWith("#x") ? Number.parseInt(body.slice(2), 16) : body.startsWith("#") ? Number(body.slice(1)) : null;
    const known = code === null ? ENTITIES[body] : code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
    if (known === undefined || !whole.endsWith(";")) throw new Error(`${whole} stands for nothing`);
    return known;
  });
