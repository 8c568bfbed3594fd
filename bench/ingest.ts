import { setImmediate } from "node:timers/promises";
import { setDeps } from "@/app/_server/deps";
import * as events from "@/app/(events)/api/v1/events/route";
import type { ParkAnswer } from "@/lib/events/events.shapes";
import { readEventIn } from "@/lib/intake/event-in.shapes";
import {
  COPY_BODIES,
  COPY_EVENTS,
  COPY_FACTS,
  encodeBodies,
  encodeEvents,
  encodeFacts,
  parkingOf,
} from "@/lib/intake/park.write";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { CopyRows } from "@/lib/platform/database/copy-binary";
import type { Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { addSource } from "@/lib/testing/letters";
import { LOCAL_CALLER } from "@/lib/testing/local-caller";
import { benchDeps } from "./deps";
import { mean, timed } from "./figures";
import { cpuByLabel } from "./processes";
import { inTurns } from "./scenario";
import { startBenchStack } from "./stack";

/**
 * How fast events come in, against COPY of the very same rows into the same tables (dlq_events, dlq_event_facts,
 * dlq_event_bodies, event_keys), encoded beforehand, a transaction for each 1,000 as ingest does. Beside the rates, what an event
 * costs: processor time stays on a busy machine. The bench `http` measures how much memory a long stream takes.
 *
 * BENCH_EVENTS (60,000) makes a quick run.
 */

const EVENTS = Number(process.env.BENCH_EVENTS ?? 60_000);
const TURNS = 3;
const BATCH = 1_000;
const RATIO_AIM = 0.8;

type IngestResult = { events: number; ingest: Cost; copy: Cost; ratio: number; withinBounds: boolean };

export async function run(): Promise<IngestResult> {
  const stack = await startBenchStack();
  const deps = benchDeps(stack.databaseUrl);
  try {
    const sourceId = await addSource(deps.db, "orders");
    await ensurePartitions(deps.db, Date.now(), Date.now() + 86_400_000);
    setDeps(deps);
    const costs = await compare(deps.db, sourceId);
    const ratio = costs.ingest.perSecond / costs.copy.perSecond;
    console.log(
      `ingest ratio ${ratio.toFixed(3)} of COPY into the same tables (aim >= ${RATIO_AIM}): ${Math.round(costs.ingest.perSecond)}/s against ${Math.round(costs.copy.perSecond)}/s`,
    );
    for (const [side, cost] of Object.entries(costs)) {
      const { processUs, postgresUs, walRecords, walBytes } = cost;
      console.log(
        `ingest ${side.padEnd(6)} an event: process ${processUs.toFixed(1)} us, PostgreSQL ${postgresUs.toFixed(1)} us, WAL ${walRecords.toFixed(2)} records and ${walBytes.toFixed(0)} bytes`,
      );
    }
    const withinBounds = ratio >= RATIO_AIM;
    return { events: EVENTS, ...costs, ratio, withinBounds };
  } finally {
    setDeps(null);
    await deps.close();
    await stack.stop();
  }
}

const CODES = ["TIMEOUT", "UPSTREAM_5XX", "VALIDATION_ERROR", "VERSION_CONFLICT", "UNKNOWN"];

/** One line of about 1,000 bytes, as a consumer would send it; 380 of them are a note in its payload. */
export function eventLine(n: number, noteBytes = 380, eventId = `event-${n}`): string {
  const code = CODES[n % CODES.length]!;
  return `${JSON.stringify({
    source: "orders",
    eventId,
    aggregateId: `order-${n % 5_000}`,
    aggregateType: "order",
    version: Math.floor(n / 5_000),
    eventType: "OrderCreated",
    errorCode: code,
    error: {
      type: "com.acme.Failure",
      message: `call ${n} of stock failed after ${n % 3_000} ms`,
      stack: `com.acme.Failure: call failed\n\tat com.acme.${code}.call(Client.java:${n % 90})\n\tat com.acme.Saga.on(Saga.java:41)`,
    },
    attempts: 4,
    headers: [
      ["x-tenant", "acme"],
      ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
    ],
    tags: { orderId: String(n), tenant: "acme" },
    payload: { orderId: n, note: "x".repeat(noteBytes) },
  })}\n`;
}

/** The lines of events number `from` and on, a hundred in a chunk. */
export function eventChunks(from: number, count: number, line: (n: number) => string = (n) => eventLine(n)) {
  const encoder = new TextEncoder();
  return Array.from({ length: count / 100 }, (_, chunk) =>
    encoder.encode(Array.from({ length: 100 }, (_, i) => line(from + chunk * 100 + i)).join("")),
  );
}

async function empty(db: Db): Promise<void> {
  await db.run(
    "truncate dlq_events, dlq_event_facts, dlq_event_bodies, event_keys, dlq_groups, dlq_levels, dlq_group_levels, dlq_flow, aggregate_lines, audit_entries, audit_pending, audit_subjects",
  );
  await db.run("checkpoint");
}

type Cost = { perSecond: number; processUs: number; postgresUs: number; walRecords: number; walBytes: number };

/** In turns, so that delays of the machine affect both. */
async function compare(db: Db, sourceId: string) {
  const chunks = eventChunks(0, EVENTS);
  const copies = encodedBatches(chunks, sourceId);
  await db.run("create extension pg_walinspect");
  const { copy, ingest } = await inTurns(
    { turns: TURNS },
    {
      copy: () => costOf(db, () => copyAll(db, copies)),
      ingest: () => costOf(db, () => ingestAll(chunks, EVENTS)),
    },
  );
  const average = (costs: Cost[]): Cost => ({
    perSecond: mean(costs, "perSecond"),
    processUs: mean(costs, "processUs"),
    postgresUs: mean(costs, "postgresUs"),
    walRecords: mean(costs, "walRecords"),
    walBytes: mean(costs, "walBytes"),
  });
  return { copy: average(copy), ingest: average(ingest) };
}

/** Into empty tables. */
async function costOf(db: Db, work: () => Promise<void>): Promise<Cost> {
  await empty(db);
  const cpu = () => cpuByLabel(({ pid, name }) => (pid === process.pid ? "process" : name));
  const cpuBefore = cpu();
  const [start] = await db.query<{ lsn: string }>("select pg_current_wal_insert_lsn() as lsn");
  const ms = await timed(work);
  const cpuAfter = cpu();
  const us = (name: string) => ((cpuAfter.get(name)! - cpuBefore.get(name)!) * 1000) / EVENTS;
  const [wal] = await db.query<{ records: number; bytes: number }>(
    `select sum(count)::float8 as records, sum(combined_size)::float8 as bytes
       from pg_get_wal_stats($1::pg_lsn, pg_current_wal_flush_lsn())`,
    [start!.lsn],
  );
  return {
    perSecond: (EVENTS / ms) * 1000,
    processUs: us("process"),
    postgresUs: us("postgres"),
    walRecords: wal!.records / EVENTS,
    walBytes: wal!.bytes / EVENTS,
  };
}

export async function ingestAll(chunks: Uint8Array[], expected: number): Promise<void> {
  const rest = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      // As a socket gives chunks: in turns of the event loop.
      await setImmediate();
      const chunk = rest.shift();
      if (chunk) controller.enqueue(chunk);
      else controller.close();
    },
  });
  const headers = { "content-type": "application/x-ndjson" };
  const incoming = new Request("http://localhost/api/v1/events", {
    method: "POST",
    headers: { ...headers, ...LOCAL_CALLER },
    body,
    duplex: "half",
  } as RequestInit);
  const answer = (await (await events.POST(incoming, { params: Promise.resolve({}) })).json()) as ParkAnswer;
  if (answer.accepted !== expected) throw new Error(`only ${answer.accepted} were accepted`);
}

type Encoded = { events: Buffer[]; facts: Buffer[]; bodies: Buffer[]; keys: Buffer[] };

function encodedBatches(chunks: Uint8Array[], sourceId: string): Encoded[] {
  const nowMs = Date.now();
  const options = { payloadBytesMax: 1e6, headersMax: 200, defaultSource: null };
  const parkings = chunks.flatMap((chunk) =>
    Buffer.from(chunk)
      .toString("utf8")
      .trim()
      .split("\n")
      .map((text) => {
        const bytes = Buffer.from(text);
        return parkingOf(uuidv7(nowMs), sourceId, readEventIn(bytes, { start: 0, end: bytes.length }, options).letter);
      }),
  );
  const batches: Encoded[] = [];
  for (let from = 0; from < parkings.length; from += BATCH) {
    const batch = parkings.slice(from, from + BATCH);
    const keys = new CopyRows(3);
    for (const { id, letter } of batch) keys.row().uuid(sourceId).text(letter.eventId).uuid(id);
    batches.push({
      events: encodeEvents(batch, nowMs).end(),
      facts: encodeFacts(batch).end(),
      bodies: encodeBodies(batch).end(),
      keys: keys.end(),
    });
  }
  return batches;
}

async function copyAll(db: Db, batches: Encoded[]): Promise<void> {
  for (const batch of batches) {
    await db.transaction(async (tx) => {
      await tx.copyIn("copy event_keys (source_id, event_id, id) from stdin (format binary)", batch.keys);
      await tx.copyIn(COPY_EVENTS, batch.events);
      await tx.copyIn(COPY_FACTS, batch.facts);
      await tx.copyIn(COPY_BODIES, batch.bodies);
    });
  }
}
