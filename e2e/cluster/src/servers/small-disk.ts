/** A small file system for data of a PostgreSQL, which is filled and emptied. Only root mounts one. */
import { spawnSync } from "node:child_process";
import { chownSync, mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ordinaryUser, ownFolder } from "./process.ts";

export type SmallDisk = Readonly<{
  /** An empty folder on it, of the user of the servers. */
  folder: string;
  /** Takes all but this many bytes. */
  fill(butBytes: number): void;
  /** Gives back what `fill` took. */
  free(): void;
  end(): void;
}>;

/** Why there can be none on this machine; null where there can. */
export const whyNoSmallDisk = (): string | null => (ordinaryUser === null ? "only root mounts a small file system" : null);

export function mountSmallDisk(megabytes: number): SmallDisk {
  const why = whyNoSmallDisk();
  if (ordinaryUser === null) throw new Error(why ?? "");
  const mount = ownFolder("disk");
  const end = (): void => void spawnSync("umount", ["--lazy", mount]);
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=755`, "tmpfs", mount], { encoding: "utf8" });
  if (status !== 0) throw new Error(`a file system cannot be mounted: ${stderr}`);
  process.once("exit", end);
  const folder = join(mount, "data");
  mkdirSync(folder, { mode: 0o700 });
  chownSync(folder, ordinaryUser.uid, ordinaryUser.gid);
  const filler = join(mount, "filler");
  return {
    folder,
    fill(butBytes) {
      const { bavail, bsize } = statfsSync(mount);
      writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - butBytes)));
    },
    free: () => rmSync(filler),
    end,
  };
}
