import { type ChildProcess, fork } from "node:child_process";
import { request } from "node:http";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createDeps, setDeps } from "@/app/_server/deps";
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
import { readEnv } from "@/lib/platform/env";
import { uuidv7 } from "@/lib/platform/ids";
import { createLog } from "@/lib/platform/log";
import { addSource } from "@/lib/testing/letters";
import { startBenchStack } from "./stack";

/**
 * How fast events come in, against COPY of the very same rows into the same tables (dlq_events,
 * dlq_event_facts, dlq_event_bodies, event_keys), encoded beforehand, a transaction for each 1,000 as ingest does. And how much memory a long stream takes.
 *
 * BENCH_EVENTS (60,000) and BENCH_BYTES (1,000,000,000) make a quick run.
 */

const EVENTS = Number(process.env.BENCH_EVENTS ?? 60_000);
const STREAM_BYTES = Number(process.env.BENCH_BYTES ?? 1_000_000_000);
const TURNS = 3;
const BATCH = 1_000;
const RATIO_AIM = 0.8;
const GROWTH_BYTES_AIM = 100e6;

export type IngestResult = {
  events: number;
  ingestPerSecond: number;
  copyPerSecond: number;
  ratio: number;
  stream: { bytes: number; seconds: number; rssStartBytes: number; rssMaxBytes: number; growthBytes: number };
  withinBounds: boolean;
};

export async function run(): Promise<IngestResult> {
  const stack = await startBenchStack();
  const deps = createDeps(
    readEnv({ DATABASE_URL: stack.databaseUrl, PARKADE_STATEMENT_TIMEOUT_MS: "60000" }),
    createLog({ process: "bench", level: "silent" }),
  );
  try {
    const sourceId = await addSource(deps.db, "orders");
    await ensurePartitions(deps.db, Date.now(), Date.now() + 86_400_000);
    setDeps(deps);
    const rates = await compare(deps.db, sourceId);
    const ratio = rates.ingest / rates.copy;
    console.log(
      `ingest ratio ${ratio.toFixed(3)} of COPY into the same tables (aim >= ${RATIO_AIM}): ${Math.round(rates.ingest)}/s against ${Math.round(rates.copy)}/s`,
    );
    await empty(deps.db);
    const stream = await longStream(stack.databaseUrl);
    console.log(
      `ingest stream ${(stream.bytes / 1e6).toFixed(0)} MB in ${stream.seconds.toFixed(0)} s: RSS ${mb(stream.rssStartBytes)} -> at most ${mb(stream.rssMaxBytes)}, growth ${mb(stream.growthBytes)} (aim < 100 MB)`,
    );
    const withinBounds = ratio >= RATIO_AIM && stream.growthBytes < GROWTH_BYTES_AIM;
    return { events: EVENTS, ingestPerSecond: rates.ingest, copyPerSecond: rates.copy, ratio, stream, withinBounds };
  } finally {
    setDeps(null);
    await deps.close();
    await stack.stop();
  }
}

const mb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;

const CODES = ["TIMEOUT", "UPSTREAM_5XX", "VALIDATION_ERROR", "VERSION_CONFLICT", "UNKNOWN"];

/** One line of about `bytes`, as a consumer would send it. */
function line(n: number, bytes: number): string {
  const code = CODES[n % CODES.length]!;
  return `${JSON.stringify({
    source: "orders",
    eventId: `event-${n}`,
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
    payload: { orderId: n, note: "x".repeat(Math.max(0, bytes - 620)) },
  })}\n`;
}

async function empty(db: Db): Promise<void> {
  await db.run(
    "truncate dlq_events, dlq_event_facts, dlq_event_bodies, event_keys, dlq_groups, dlq_levels, dlq_group_levels, dlq_flow, audit_entries, audit_subjects",
  );
  await db.run("checkpoint");
}

/** In turns, so that delays of the machine affect both. Events per second. */
async function compare(db: Db, sourceId: string): Promise<{ ingest: number; copy: number }> {
  const encoder = new TextEncoder();
  const chunks: Uint8Array[] = [];
  for (let n = 0; n < EVENTS; n += 100) {
    chunks.push(encoder.encode(Array.from({ length: 100 }, (_, i) => line(n + i, 1_000)).join("")));
  }
  const copies = encodedBatches(chunks, sourceId);
  const rates = { ingest: 0, copy: 0 };
  for (let turn = 0; turn < TURNS; turn++) {
    await empty(db);
    rates.copy += (await perSecond(() => copyAll(db, copies))) / TURNS;
    await empty(db);
    rates.ingest += (await perSecond(() => ingestAll(chunks))) / TURNS;
  }
  return rates;
}

async function perSecond(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return (EVENTS / (performance.now() - startedMs)) * 1000;
}

async function ingestAll(chunks: Uint8Array[]): Promise<void> {
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
    headers,
    body,
    duplex: "half",
  } as RequestInit);
  const answer = (await (await events.POST(incoming, { params: Promise.resolve({}) })).json()) as ParkAnswer;
  if (answer.accepted !== EVENTS) throw new Error(`only ${answer.accepted} were accepted`);
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

/** Streams BENCH_BYTES of NDJSON to a server process and watches its resident memory. */
async function longStream(databaseUrl: string): Promise<IngestResult["stream"]> {
  const child = fork(fileURLToPath(new URL("./ingest-server.ts", import.meta.url)), {
    // As `npm start` runs it, see scripts/stack.ts.
    execArgv: ["--max-semi-space-size=16", "--import", "tsx"],
    env: { ...process.env, DATABASE_URL: databaseUrl },
  });
  try {
    const port = await portOf(child);
    const seen = { last: 0, start: 0, max: 0 };
    child.on("message", ({ rssBytes }: { rssBytes?: number }) => {
      if (!rssBytes) return;
      seen.last = rssBytes;
      seen.max = Math.max(seen.max, rssBytes);
    });
    // The first megabytes load code and fill pools; growth counts from there.
    await send(port, { from: 0, bytes: 30e6 });
    seen.start = seen.last;
    seen.max = seen.last;
    const startedMs = performance.now();
    await send(port, { from: 1_000_000, bytes: STREAM_BYTES });
    const seconds = (performance.now() - startedMs) / 1000;
    const { start, max } = seen;
    return { bytes: STREAM_BYTES, seconds, rssStartBytes: start, rssMaxBytes: max, growthBytes: max - start };
  } finally {
    child.kill("SIGTERM");
  }
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("message", (message: { port: number }) => resolve(message.port));
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
}

const LINE_BYTES = 4_000;

function send(port: number, { from, bytes }: { from: number; bytes: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/x-ndjson" };
    const outgoing = request({ port, host: "127.0.0.1", method: "POST", path: "/api/v1/events", headers }, (answer) => {
      let text = "";
      answer.on("data", (data) => {
        text += data;
      });
      answer.on("end", () => (answer.statusCode === 202 ? resolve() : reject(new Error(text.slice(0, 300)))));
    });
    outgoing.on("error", reject);
    let n = from;
    let sent = 0;
    const pump = () => {
      while (sent < bytes) {
        const text = Array.from({ length: 16 }, () => line(n++, LINE_BYTES)).join("");
        sent += Buffer.byteLength(text);
        if (!outgoing.write(text)) return void outgoing.once("drain", pump);
      }
      outgoing.end();
    };
    pump();
  });
}
