import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import { sep } from "node:path";

/** The greatest key or certificate is a tenth of it. */
const BYTES_MAX = 64 * 1024;

/**
 * Reads secrets from the files of a folder, anew each time: an orchestrator replaces them while a process runs. Answers undefined for
 * what is not there, is no file, is larger than 64 KiB, or lies elsewhere, also behind a link. The line break that ends a file is no
 * part of its secret. `folder`: null = there are none.
 */
export function secretFiles(folder: string | null): (path: string) => string | undefined {
  return (path) => {
    if (folder === null) return undefined;
    try {
      // Kubernetes links each file to a hidden folder beside it, so a link is followed as long as it stays inside.
      const real = realpathSync(path);
      if (!real.startsWith(realpathSync(folder) + sep)) return undefined;
      return contentOf(openSync(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
    } catch {
      return undefined;
    }
  };
}

/**
 * A secret of Parkade itself, given as it is or as `file:/path`; undefined = the file cannot be read, or it lies in `folder`, whose files
 * every source may name and send somewhere.
 */
export function ownSecret(folder: string | null): (given: string) => string | undefined {
  return (given) => {
    if (!given.startsWith("file:")) return given;
    try {
      const real = realpathSync(given.slice("file:".length));
      if (folder !== null && `${real}${sep}`.startsWith(realpathSync(folder) + sep)) return undefined;
      return contentOf(openSync(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
    } catch {
      return undefined;
    }
  };
}

function contentOf(file: number): string | undefined {
  try {
    const facts = fstatSync(file);
    if (!facts.isFile() || facts.size > BYTES_MAX) return undefined;
    const bytes = Buffer.alloc(BYTES_MAX + 1);
    const read = readSync(file, bytes, 0, bytes.length, 0);
    return read > BYTES_MAX ? undefined : bytes.toString("utf8", 0, read).replace(/\r?\n$/, "");
  } finally {
    closeSync(file);
  }
}
