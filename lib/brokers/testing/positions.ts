import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { Position, Positions } from "@/lib/brokers/port";

/** One consumer holds them, and nobody else asks. */
export function memoryPositions(stored = new Map<string, Position>()): Positions {
  return {
    hold: async (log) => ({ position: stored.get(log) ?? null }),
    set: async ({ log, position }) => void stored.set(log, position),
    read: async (log) => stored.get(log) ?? null,
    release: async () => undefined,
  };
}

/** The position of one log in a file, which outlives the process. */
export function filePositions(path: string): Positions {
  const read = async (): Promise<Position | null> => {
    if (!existsSync(path)) return null;
    const { offset, mark } = JSON.parse(readFileSync(path, "utf8"));
    return { offset: BigInt(offset), mark };
  };
  return {
    hold: async () => ({ position: await read() }),
    set: async ({ position: { offset, mark } }) => {
      writeFileSync(`${path}.new`, JSON.stringify({ offset: String(offset), mark }));
      renameSync(`${path}.new`, path);
    },
    read,
    release: async () => undefined,
  };
}
