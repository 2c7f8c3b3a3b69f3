/** A real Restate server, on the loopback interface only, without telemetry; alone, or one of three nodes. */
import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { chownSync, copyFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, ordinaryUser, ownFolder, type ServerProcess, serverProcess } from "./process.ts";

export type Restate = ServerProcess &
  Readonly<{
    ingress: string;
    admin: string;
    /** The public key of what it signs its requests with. */
    identity: string;
    /** Tells Restate where a service runs. */
    register(uri: string): Promise<void>;
  }>;

/** A node of a cluster: its name, the node-to-node ports of all, and on how many nodes each record lies. */
type Node = Readonly<{ name: string; port: number; peers: readonly number[]; replication: number }>;

export const startRestate = async (): Promise<Restate> => {
  const port = await freePort();
  return startNode({ name: "n1", port, peers: [port], replication: 1 });
};

/** Three nodes; each record lies on two of them, so that any one may die. */
export async function startThreeRestates(): Promise<readonly Restate[]> {
  const peers = [await freePort(), await freePort(), await freePort()];
  return Promise.all(peers.map((port, i) => startNode({ name: `n${i + 1}`, port, peers, replication: 2 })));
}

async function startNode({ name, port, peers, replication }: Node): Promise<Restate> {
  const [ingressPort, adminPort] = [await freePort(), await freePort()];
  const folder = ownFolder("restate");
  const [ingress, admin] = [`http://127.0.0.1:${ingressPort}`, `http://127.0.0.1:${adminPort}`];
  const identity = makeIdentity(folder);
  const server = serverProcess({
    name: "restate",
    program: reachableProgram(folder),
    args: ["--no-logo"],
    folder,
    env: {
      RESTATE_NODE_NAME: name,
      RESTATE_CLUSTER_NAME: "laboratory",
      RESTATE_BASE_DIR: join(folder, "data"),
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_ADDRESS: `127.0.0.1:${port}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${port}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingressPort}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${adminPort}`,
      RESTATE_METADATA_CLIENT__ADDRESSES: `[${peers.map((peer) => `http://127.0.0.1:${peer}`).join(",")}]`,
      RESTATE_AUTO_PROVISION: String(port === peers[0]),
      RESTATE_DEFAULT_REPLICATION: String(replication),
      RESTATE_DEFAULT_NUM_PARTITIONS: "4",
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "256 MB",
      RESTATE_REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE: identity.file,
      RESTATE_DISABLE_TELEMETRY: "true",
      RESTATE_LOG_FILTER: "warn",
    },
    isReady: async () => {
      const answers = await Promise.all([fetch(`${ingress}/restate/health`), fetch(`${admin}/health`)]);
      return answers.every(({ ok }) => ok);
    },
  });
  await server.start();
  return {
    ...server,
    ingress,
    admin,
    identity: identity.publicKey,
    async register(uri) {
      const answer = await fetch(`${admin}/deployments`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ uri, force: true }),
      });
      if (!answer.ok) throw new Error(`Restate refuses the service at ${uri}: ${answer.status} ${await answer.text()}`);
    },
  };
}

const DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** A key that Restate signs its requests with, and its public half as Restate writes it: 32 bytes in base 58. */
function makeIdentity(folder: string): Readonly<{ file: string; publicKey: string }> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const file = join(folder, "identity.pem");
  writeFileSync(file, privateKey.export({ type: "pkcs8", format: "pem" }));
  if (ordinaryUser !== null) chownSync(file, ordinaryUser.uid, ordinaryUser.gid);
  const bytes = publicKey.export({ type: "spki", format: "der" }).subarray(-32);
  let digits = "";
  for (let left = BigInt(`0x${bytes.toString("hex")}`); left > 0n; left /= 58n) digits = `${DIGITS[Number(left % 58n)]}${digits}`;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return { file, publicKey: `publickeyv1_${"1".repeat(Math.max(0, zeros))}${digits}` };
}

function reachableProgram(folder: string): string {
  const name = `restate-server-${process.platform}-${process.arch}`;
  const program = join(import.meta.dirname, "..", "..", "node_modules", "@restatedev", name, "bin", "restate-server");
  if (!existsSync(program)) throw new Error("Restate is not installed here: run `node e2e/cluster/src/install.ts`");
  if (spawnSync(program, ["--version"], { cwd: folder, ...ordinaryUser }).status === 0) return program;
  const copy = join(folder, "restate-server");
  copyFileSync(program, copy);
  return copy;
}
