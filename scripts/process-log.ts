import { closeSync, existsSync, fchmodSync, mkdirSync, openSync, renameSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";

const LOG_BYTES_MAX = 20 * 2 ** 20;

export type ProcessLog = {
  /** Never throws: a line that the disk does not take is dropped, and a later line says how many were. */
  write(line: string): void;
  close(): void;
};

/**
 * The log file of a supervised process, readable by its owner alone. Written at once and not through a stream: a stream
 * that the disk refuses raises an unhandled error, which would end the launcher and all its processes.
 */
export function openProcessLog(path: string): ProcessLog {
  let file: number | null = null;
  let dropped = 0;
  const open = () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if (existsSync(path) && statSync(path).size > LOG_BYTES_MAX) renameSync(path, `${path}.1`);
    const opened = openSync(path, "a", 0o600);
    fchmodSync(opened, 0o600);
    return opened;
  };
  const put = (text: string) => {
    const bytes = Buffer.from(text);
    file ??= open();
    // Part of a line reached the disk: its rest is dropped, and the next line begins on its own.
    if (writeSync(file, bytes) < bytes.length) throw new Error("the disk is full");
  };
  try {
    file = open();
  } catch {
    // Tried again with each line.
  }
  return {
    write: (line) => {
      try {
        if (dropped > 0) {
          put(`\n${JSON.stringify({ level: "warn", msg: "lines dropped, the disk was full", lines: dropped })}\n`);
          dropped = 0;
        }
        put(`${line}\n`);
      } catch {
        // A log that cannot be closed must not end the launcher.
        dropped++;
      }
    },
    close: () => {
      if (file !== null) closeSync(file);
      file = null;
    },
  };
}
