import { join, resolve } from "node:path";
import { parseArchiveLocation } from "../lib/platform/archive/archive-location.pure.ts";
import { errorText, StartError } from "./start-error.ts";

export type StartEnv = {
  port: number;
  /** Absolute. */
  dataDir: string;
  /** Null: the embedded PostgreSQL. */
  databaseUrl: string | null;
  /** Of the role that migrates DATABASE_URL's database and sets up its role. Null: DATABASE_URL's own. */
  ownerDatabaseUrl: string | null;
  /** Null: the queue and the token bucket run on PostgreSQL. */
  redisUrl: string | null;
  /** The folder of the archive of removed events, to be made; null: PARKADE_ARCHIVE says where it is, or there is none. */
  archiveDir: string | null;
};

/** What `npm start` reads from the environment; an empty variable counts as unset. `cwd` is what a relative folder means. */
export function parseStartEnv(env: Record<string, string | undefined>, cwd: string): StartEnv {
  const dataDir = resolve(cwd, env.PARKADE_DATA_DIR || ".parkade");
  return {
    port: parsePort(env.PORT),
    dataDir,
    databaseUrl: env.DATABASE_URL || null,
    ownerDatabaseUrl: (env.DATABASE_URL && env.PARKADE_OWNER_DATABASE_URL) || null,
    redisUrl: env.REDIS_URL || null,
    // With a server of their own web and worker may run on other machines, too, which do not see this folder.
    archiveDir: hasArchive(env.PARKADE_ARCHIVE) || env.DATABASE_URL ? null : join(dataDir, "archive"),
  };
}

/** Web and worker would say the same, minutes later, when they are built. */
function hasArchive(text: string | undefined): boolean {
  if (!text) return false;
  try {
    parseArchiveLocation(text);
  } catch (error) {
    throw new StartError(`${errorText(error)}.`);
  }
  return true;
}

function parsePort(text: string | undefined): number {
  if (!text) return 3000;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new StartError(`PORT is ${JSON.stringify(text)}: give a whole number from 1 to 65535.`);
}
