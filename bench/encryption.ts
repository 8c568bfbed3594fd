import { randomBytes } from "node:crypto";
import { setDeps } from "@/app/_server/deps";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { createDb } from "@/lib/platform/database/db";
import { addSource } from "@/lib/testing/letters";
import { benchDeps } from "./deps";
import { timed } from "./figures";
import { eventChunks, ingestAll } from "./ingest";
import { forkBench } from "./processes";
import { ended, openBench } from "./redrive";

/**
 * What encryption costs: intake of events of 1 kB and their redrive to a local sink, encrypted against as they are, in turns on
 * the same store.
 *
 * BENCH_EVENTS (20,000) makes a quick run.
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 20_000);
const TURNS = 3;
const FORMS = ["clear", "encrypted"] as const;
type Form = (typeof FORMS)[number];
/** Of the clear rate. */
const RATIO_AIM = 0.8;

export type EncryptionResult = {
  events: number;
  /** Events per second. */
  ingest: Record<Form, number>;
  redrive: Record<Form, number>;
  ratios: { ingest: number; redrive: number };
  met: boolean;
};

export async function run(): Promise<EncryptionResult> {
  const keys = { PARKADE_ENCRYPTION_KEYS: `bench=${randomBytes(32).toString("base64")}` };
  const bench = await openBench("postgres");
  const sink = await forkBench<{ port: number }>("./redrive-sink.ts");
  const deps = { clear: benchDeps(bench.url), encrypted: benchDeps(bench.url, keys) };
  const ingest = { clear: 0, encrypted: 0 };
  const redrive = { clear: 0, encrypted: 0 };
  try {
    await ensurePartitions(bench.db, Date.now(), Date.now() + 86_400_000);
    // It reads both forms.
    const worker = await bench.worker(keys);
    const url = `http://127.0.0.1:${sink.first.port}/events`;
    for (let turn = 0; turn <= TURNS; turn++) {
      for (const form of turn % 2 === 0 ? FORMS : FORMS.toReversed()) {
        const source = `${form}-${turn}`;
        await addSource(bench.db, source, { redriveUrl: url });
        await bench.db.run("update targets set rate_per_second = null");
        const chunks = eventChunks(0, EVENTS).map((chunk) => named(chunk, source));
        setDeps(deps[form]);
        const ms = await timed(() => ingestAll(chunks, EVENTS));
        const done = await ended(bench.deps, (await bench.redriveAll(source)).id);
        if (done.delivered !== EVENTS) throw new Error(`${done.delivered} of ${EVENTS} were delivered`);
        const sentMs = Date.parse(done.finishedAt!) - Date.parse(done.startedAt!);
        // The first turn warms both up.
        if (turn === 0) continue;
        ingest[form] += ((EVENTS / ms) * 1000) / TURNS;
        redrive[form] += ((EVENTS / sentMs) * 1000) / TURNS;
      }
    }
    await assertEncrypted(bench.url);
    await worker.stop();
  } finally {
    setDeps(null);
    await Promise.all(FORMS.map((form) => deps[form].close()));
    await sink.stop();
    await bench.close();
  }
  const ratios = { ingest: ingest.encrypted / ingest.clear, redrive: redrive.encrypted / redrive.clear };
  const met = ratios.ingest >= RATIO_AIM && ratios.redrive >= RATIO_AIM;
  console.log(
    `encrypted against clear: ingest ${ratios.ingest.toFixed(3)} (${rate(ingest.encrypted)} against ${rate(ingest.clear)}), redrive ${ratios.redrive.toFixed(3)} (${rate(redrive.encrypted)} against ${rate(redrive.clear)}); aim >= ${RATIO_AIM}: ${met ? "met" : "NOT MET"}`,
  );
  return { events: EVENTS, ingest, redrive, ratios, met };
}

function rate(perSecond: number): string {
  return `${Math.round(perSecond)}/s`;
}

/** The lines of another source. */
function named(chunk: Uint8Array, source: string): Uint8Array {
  return Buffer.from(Buffer.from(chunk).toString().replaceAll('"source":"orders"', `"source":"${source}"`));
}

async function assertEncrypted(url: string): Promise<void> {
  const db = createDb(url, { max: 1 });
  try {
    const [row] = await db.query<{ encrypted: number; clear: number }>(
      "select count(data_key) as encrypted, count(*) - count(data_key) as clear from dlq_event_bodies",
    );
    if (row!.encrypted !== row!.clear) throw new Error(`${row!.encrypted} are encrypted, ${row!.clear} are not`);
  } finally {
    await db.end();
  }
}
