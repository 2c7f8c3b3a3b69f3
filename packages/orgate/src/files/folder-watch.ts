/** Tells when a folder, or anything below it, may have changed; also when the folder itself is replaced by another of its name. */
import { type FSWatcher, readdirSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Editors write in several steps, and folders are replaced in two: one call for all of it. */
const QUIET_MS = 60;

export type FolderWatch = Readonly<{ close(): void }>;

/** `only`: watches files of these names directly in the folder, and nothing below it. */
export function watchFolder(folder: string, changed: () => void, only: ((name: string) => boolean) | null = null): FolderWatch {
  const watchers = new Map<string, FSWatcher>();
  let timer: ReturnType<typeof setTimeout> | null = null;
  let open = true;

  function stir(): void {
    if (!open) return;
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      renew();
      changed();
    }, QUIET_MS);
    timer.unref();
  }

  /** A watcher follows the folder, not its name: the folder may be gone, and another may lie in its place. */
  function renew(): void {
    for (const watcher of watchers.values()) watcher.close();
    watchers.clear();
    add(dirname(folder), (name) => name === null || name === basename(folder));
    if (only !== null) add(folder, (name) => name === null || only(name));
    else for (const inner of [folder, ...foldersBelow(folder)]) add(inner, () => true);
  }

  function add(path: string, concerns: (name: string | null) => boolean): void {
    try {
      const watcher = watch(path, { persistent: false }, (_, name) => {
        if (concerns(name)) stir();
      });
      watcher.on("error", stir);
      watchers.set(path, watcher);
    } catch {
      // not there now: the folder above tells when it comes
    }
  }

  renew();
  return {
    close() {
      open = false;
      if (timer !== null) clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}

function foldersBelow(folder: string): readonly string[] {
  try {
    const inner = readdirSync(folder, { withFileTypes: true }).filter((e) => e.isDirectory());
    return inner.flatMap(({ name }) => [join(folder, name), ...foldersBelow(join(folder, name))]);
  } catch {
    return [];
  }
}
