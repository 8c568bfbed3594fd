import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestDatabase } from "@/lib/testing/postgres";
import { startPostgres } from "@/scripts/embedded-postgres";
import { migrate } from "@/scripts/migrate";

/** On a disk, which has room for ten gigabytes: the databases of other tests are in memory. */
export async function databaseOnDisk(): Promise<TestDatabase> {
  const dataDir = mkdtempSync(join(tmpdir(), "parkade-bounded-"));
  chmodSync(dataDir, 0o755);
  const settings = { fsync: "off", full_page_writes: "off", wal_level: "minimal", max_wal_senders: "0" };
  const server = await startPostgres({ dataDir, settings, ephemeral: true });
  await migrate(server.url);
  const drop = async () => {
    await server.stop("immediate");
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { url: server.url, drop };
}
