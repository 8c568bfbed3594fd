import { resolve } from "node:path";
import { StartError } from "./start-error.ts";

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
};

/** What `npm start` reads from the environment; an empty variable counts as unset. `cwd` is what a relative folder means. */
export function parseStartEnv(env: Record<string, string | undefined>, cwd: string): StartEnv {
  return {
    port: parsePort(env.PORT),
    dataDir: resolve(cwd, env.PARKADE_DATA_DIR || ".parkade"),
    databaseUrl: env.DATABASE_URL || null,
    ownerDatabaseUrl: (env.DATABASE_URL && env.PARKADE_OWNER_DATABASE_URL) || null,
    redisUrl: env.REDIS_URL || null,
  };
}

function parsePort(text: string | undefined): number {
  if (!text) return 3000;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new StartError(`PORT is ${JSON.stringify(text)}: give a whole number from 1 to 65535.`);
}
