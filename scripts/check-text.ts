// R-2 no file holds a registry host, a path of one machine, a private key, or a merge that was not finished.
// The patterns are written so that they do not match their own source.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Finding, filesOf, lineAt } from "./tree.ts";

const FORBIDDEN: readonly Readonly<{ what: string; pattern: RegExp }>[] = [
  {
    what: "a registry host",
    pattern: /\bhttps?:\/\/[^\s"'`/]*(?:registry|verdaccio|artifactory|nexus)|\b(?:registry|npm\.pkg)\.[a-z0-9-]+\.[a-z]{2,}\b/i,
  },
  { what: "a path of one machine", pattern: /(?<![\w.$}~-])\/(?:work|root|home|Users)\/[\w.-]+/ },
  { what: "a path of one machine", pattern: /\b[A-Z]:\\{1,2}Users\\/ },
  { what: "a private key", pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----/ },
  { what: "a private key", pattern: /\bMC4CAQAwBQYDK2V[w]/ }, // Ed25519 in PKCS #8, base64
  { what: "a private key", pattern: /"d"\s*:\s*"[\w-]{43}"/ }, // Ed25519 or P-256 as JWK
  { what: "a merge that was not finished", pattern: /^(?:<{7}|>{7}) \S/m },
];

export function checkText(root: string, env: Readonly<Record<string, string | undefined>>): readonly Finding[] {
  const forbidden = [...FORBIDDEN, ...ownRegistry(env)];
  return filesOf(root).flatMap((file) => {
    const text = readFileSync(join(root, file), "latin1"); // binary fixtures are searched alike
    return forbidden.flatMap(({ what, pattern }) =>
      [...text.matchAll(new RegExp(pattern, `${pattern.flags}g`))].map((match) => ({
        file,
        line: lineAt(text, match.index),
        message: `holds ${what}`,
      })),
    );
  });
}

/** The registry of this machine, when npm says that it is not the usual one. */
function ownRegistry(env: Readonly<Record<string, string | undefined>>): typeof FORBIDDEN {
  const url = env.npm_config_registry;
  if (url === undefined || !URL.canParse(url)) return [];
  return [{ what: "a registry host", pattern: new RegExp(new URL(url).host.replaceAll(/[^\w-]/g, "\\$&"), "i") }];
}
