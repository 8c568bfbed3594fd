import { appendFileSync } from "node:fs";
import pg from "pg";
import { createOutboxPublisher } from "@/lib/kit/outbox/publisher";
import { sendAll } from "./slow-log";

/** Publishes into a file until somebody kills it. Arguments: connection string, table, file. */
const [url, table, file] = process.argv.slice(2) as [string, string, string];
const pool = new pg.Pool({ connectionString: url, max: 4 });
createOutboxPublisher({
  pool,
  table,
  batch: 40,
  leaseMs: 1_000,
  publishTimeoutMs: 500,
  transport: sendAll((message) => appendFileSync(file, `${message.aggregateId} ${message.id}\n`)),
});
