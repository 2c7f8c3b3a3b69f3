/** What `orgate tools init` writes: a manifest that loads as it is. */

const head = (name: string, description: string, more: string): string => `[tool]
name = "${name}"
version = "0.1.0"
description = "${description}"
timeout_seconds = 30
risk_tier = "low"
${more}
`;

const TEXT = `[args.text]
position = 1
required = true
type = "string"
description = "what to say"
`;

export function starterManifest(name: string, kind: "command" | "http" | "mcp"): string {
  switch (kind) {
    case "command":
      return `${head(name, "Says a text.", 'binary = "echo"\nhuman_approval = false\n')}
${TEXT}
[command]
# One placeholder is one item, whatever it holds. There is no shell.
template = "echo {text}"

[output]
format = "text"

# Left out, Orgate assumes the strictest: running it counts as "execute", it may do harm, and it is never repeated after a crash.
# Say less only where it is true of every argument: policies that permit reading then permit running this program.
# [tool.orgate]
# effects = ["read"]
# repeat = "read"
`;
    case "http":
      return `${head(name, "Sends a text.", "human_approval = true\n")}
${TEXT}
[http]
method = "POST"
url = "https://api.example.com/messages"
headers = { "Authorization" = "Bearer {_secret:${name}_token}", "Content-Type" = "application/json" }
body_template = '{"text": "{text}"}'
success_status = [200, 201]

[output]
format = "json"
`;
    case "mcp":
      return `${head(name, "Calls a tool of an MCP server.", "human_approval = false\n")}
${TEXT}
[mcp]
server = "everything"
tool = "echo"

[mcp.field_map]
text = "message"
`;
  }
}
