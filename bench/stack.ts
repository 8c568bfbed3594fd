import { rmSync } from "node:fs";
import { redisInstalled, type TestRedis, testRedis } from "@/lib/testing/redis";
import { temporaryDataFolder } from "../scripts/data-folder.ts";
import { startPostgres } from "../scripts/embedded-postgres.ts";
import { generate } from "../scripts/generate.ts";
import { migrate } from "../scripts/migrate.ts";

export type BenchStack = {
  /** A migrated, empty database on an embedded PostgreSQL with exactly the settings of `npm start`: fsync is on. */
  databaseUrl: string;
  /** Null where no Redis was asked for or redis-server is not installed: say so beside the figures. */
  redis: TestRedis | null;
  stop(): Promise<void>;
};

/** The servers of a bench, on free ports, in a temporary folder that `stop` removes. */
export async function startBenchStack({ redis = false }: { redis?: boolean } = {}): Promise<BenchStack> {
  generate();
  const dataDir = temporaryDataFolder("bench");
  const postgres = await startPostgres({ dataDir });
  const server = redis && redisInstalled ? await testRedis() : null;
  const stop = async () => {
    await server?.stop();
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    await migrate(postgres.url);
    return { databaseUrl: postgres.url, redis: server, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
