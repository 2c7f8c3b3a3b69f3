/** How the server's own pages look: sign-in and API description, which work without the console. Light and dark by the reader's own setting, no script, nothing from elsewhere. */
import { createHash } from "node:crypto";

export const STYLE = `:root{color-scheme:light dark;--ink:#1b1b1f;--dim:#5a5a66;--page:#fff;--line:#dcdce2;--field:#fff;--accent:#2f55d4;--on-accent:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e6e6ea;--dim:#a2a2ae;--page:#17171a;--line:#34343b;--field:#1f1f24;--accent:#9ab8ff;--on-accent:#14151a}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;margin:0;color:var(--ink);background:var(--page)}
main{max-width:64rem;margin:0 auto;padding:2.5rem 1rem 4rem}
main.narrow{max-width:34rem;padding-top:12vh}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 1rem}
h2{font-size:1.15rem;margin:2.25rem 0 .5rem}
a{color:var(--accent)}
.dim{color:var(--dim)}
code{font:.875em/1.5 ui-monospace,SFMono-Regular,Menlo,monospace;overflow-wrap:anywhere}
label{display:block;font-weight:600;margin:1.25rem 0 .35rem}
input,button{font:inherit;border-radius:.4rem;min-height:2.75rem;padding:.5rem .8rem}
input{width:100%;color:inherit;background:var(--field);border:1px solid var(--line)}
button{margin-top:.75rem;border:0;font-weight:600;cursor:pointer;color:var(--on-accent);background:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
table{border-collapse:collapse;width:100%;table-layout:fixed}
td,th{text-align:left;vertical-align:top;padding:.45rem .6rem .45rem 0;border-bottom:1px solid var(--line)}
th{font-weight:600}
th:first-child{width:40%}th:last-child{width:20%}
@media (max-width:44rem){thead{display:none}tr{display:block;padding:.6rem 0;border-bottom:1px solid var(--line)}td{display:block;border:0;padding:.1rem 0}td:last-child{color:var(--dim)}}`;

/** The hash by which a content security policy allows exactly this text. */
export const toCspSource = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

export const renderPage = (title: string, body: string): string =>
  `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${STYLE}</style></head><body>${body}</body></html>\n`;
