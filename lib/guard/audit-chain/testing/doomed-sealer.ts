import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { createDb, type Db } from "@/lib/platform/database/db";

/**
 * A process that seals what waits and is killed with -9 at a batch: by itself, before the batch commits or after. It ends with 0
 * when there are fewer batches. Started with what it needs as one JSON argument.
 */
const { url, batch, committed } = JSON.parse(process.argv[2]!) as {
  url: string;
  /** From 1. */
  batch: number;
  committed: boolean;
};
const db = createDb(url, { max: 1, applicationName: "doomed-sealer" });
let batches = 0;
const die = () => process.kill(process.pid, "SIGKILL");
const doomed: Db = {
  ...db,
  transaction: async (work, options) => {
    const done = await db.transaction(async (tx) => {
      const inside = await work(tx);
      if (++batches === batch && !committed) die();
      return inside;
    }, options);
    if (batches === batch) die();
    return done;
  },
};
await sealEntries(doomed);
process.exit(0);
