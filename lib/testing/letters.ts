import type { Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

/** A dead letter in which every value differs from a default. */
export function deadLetter(change: Partial<DeadLetter> = {}): DeadLetter {
  return {
    eventId: "event-1",
    aggregateType: "order",
    aggregateId: "order-77",
    version: 3n,
    eventType: "OrderCreated",
    traceId: "0af7651916cd43dd8448eb211c80319c",
    errorCode: "UPSTREAM_5XX",
    error: {
      type: "com.acme.StockException",
      message: "503 from stock-service for order-77",
      stack: "com.acme.StockException: 503\n\tat com.acme.Stock.reserve(Stock.java:42)",
    },
    attempts: 4,
    failedAtMs: Date.parse("2026-11-19T10:00:00.250Z"),
    payload: Buffer.from('{"orderId": 77, "big": 9007199254740993}'),
    contentType: "application/json",
    headers: [
      ["b", "1"],
      ["a", null],
      ["b", "2"],
    ],
    tags: { orderId: "77" },
    origin: { queue: "orders.dlq" },
    redrive: null,
    ...change,
  };
}

/** Makes an HTTP source with its two targets. Returns its id. */
export async function addSource(
  db: Db,
  name: string,
  config: object = { redriveUrl: "http://127.0.0.1:9/sink" },
): Promise<string> {
  const [id, main, slow] = [uuidv7(Date.now()), uuidv7(Date.now()), uuidv7(Date.now())];
  await db.run("insert into sources (id, name, kind, config) values ($1, $2, 'http', $3)", [id, name, config]);
  await db.run(
    `insert into targets (id, source_id, lane, name, rate_per_second)
     values ($1, $3, 'main', $4, 50), ($2, $3, 'slow', $4 || '.slow', 5)`,
    [main, slow, id, name],
  );
  return id;
}

/** The levels of what is stored, where it was written by SQL. */
export async function countStored(db: Db): Promise<void> {
  await db.run(
    "insert into dlq_levels select source_id, error_code, status, date_trunc('hour', first_seen, 'UTC'), count(*) from dlq_events group by 1, 2, 3, 4",
  );
  await db.run(
    "insert into dlq_group_levels select fingerprint, source_id, status, count(*) from dlq_events group by 1, 2, 3",
  );
}

/**
 * Moves the deliveries of unconfirmed events into the past, of one source or of all, with their quiet windows: the windows first, as
 * their confirmation locks them.
 */
export async function deliveredEarlier(db: Db, interval: string, sourceId: string | null = null): Promise<void> {
  await db.run(
    `with delivered as materialized (
       select id from dlq_events where status = 'REDRIVEN' and confirmed_at is null and ($2::uuid is null or source_id = $2)
     ), windows as (
       update quiet_windows set since = since - $1::interval where event_ids && array(select id from delivered) returning 1)
     update dlq_events e set redrive_at = redrive_at - $1::interval
       from delivered d where e.id = d.id and (select count(*) from windows) is not null`,
    [interval, sourceId],
  );
}
