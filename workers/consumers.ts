import type { Consumer, ConsumerState, ParkBatch } from "@/lib/brokers/port";
import type { BrokerRegistry } from "@/lib/brokers/registry";
import type { DeadLetter } from "@/lib/core/dead-letter";
import { DomainError } from "@/lib/core/problem";
import { systemViewer } from "@/lib/core/viewer";
import { parseSourceConfig } from "@/lib/kinds/kinds";
import { PARK_BATCH_MAX, parkEvents } from "@/lib/operations/park-events";
import type { Clock } from "@/lib/platform/clock";
import type { Log } from "@/lib/platform/log";
import type { Db } from "@/lib/store/db";
import { type ConsumedSource, readConsumedSources } from "@/lib/store/read/consumed-sources";
import { writeSourceState } from "@/lib/store/write/source-state";

/** A new, changed or disabled source is noticed within this time. */
const REFRESH_MS = 2_000;
/** A silent broker delays the end of its own consumer, and of the worker, by at most this long. */
const STOP_MS_MAX = 15_000;

export type ConsumersOptions = {
  db: Db;
  clock: Clock;
  log: Log;
  brokers: Pick<BrokerRegistry, "consume">;
  /** The name of this worker among the workers that report the state of a source. */
  workerId: string;
};

export type Consumers = {
  running(): number;
  /** Waits until the received batches are finished or given back to their broker. */
  stop(): Promise<void>;
};

const IDLE: ConsumerState = { state: "running", lag: null, lastError: null, parked: 0, parts: [] };

type Running = { source: ConsumedSource; consumer: Consumer | null; fault: string | null };

/** Keeps a consumer for each enabled source that is read from a broker, and reports its state. */
export function startConsumers(options: ConsumersOptions): Consumers {
  const { clock, db, log } = options;
  const running = new Map<string, Running>();
  const retiring = new Set<Promise<void>>();
  let stopped = false;
  let cancel = () => {};
  let round: Promise<void> = Promise.resolve();

  const loop = () => {
    round = refresh()
      .catch((error) => log.warn({ err: error }, "sources not read, consuming on"))
      .finally(() => {
        if (!stopped) cancel = clock.timer(REFRESH_MS, loop);
      });
  };

  async function refresh(): Promise<void> {
    const sources = await readConsumedSources(db);
    const wanted = new Map(sources.map((source) => [source.id, source]));
    for (const [id, held] of running) {
      if (wanted.get(id)?.revision === held.source.revision) continue;
      running.delete(id);
      retire(held, { removed: !wanted.has(id) });
    }
    for (const source of sources) {
      if (stopped) return;
      if (!running.has(source.id)) running.set(source.id, open(source));
    }
    await Promise.all([...running.values()].map((held) => report(held, options)));
  }

  /** Its end may take as long as its broker is silent. Only the end of the worker waits for it. */
  function retire({ source, consumer }: Running, { removed }: { removed: boolean }): void {
    const ending = (async () => {
      await consumer?.stop();
      if (removed) await writeState(source, { ...IDLE, state: "stopped" }, options);
    })().catch((error) => log.warn({ source: source.name, err: error }, "consumer not stopped in good order"));
    retiring.add(ending);
    void ending.finally(() => retiring.delete(ending));
  }

  function open(source: ConsumedSource): Running {
    try {
      const consumer = options.brokers.consume(parseSourceConfig(source.kind, source.config), parkFor(source, options));
      log.info({ source: source.name, kind: source.kind }, "consuming");
      return { source, consumer, fault: null };
    } catch (error) {
      const fault = error instanceof DomainError ? error.message : "the source cannot be opened";
      log.warn({ source: source.name, err: error }, "source cannot be opened");
      return { source, consumer: null, fault };
    }
  }

  loop();
  return {
    running: () => running.size,
    stop: async () => {
      stopped = true;
      cancel();
      await round;
      for (const held of running.values()) retire(held, { removed: false });
      running.clear();
      const enough = new AbortController();
      const late = clock.sleep(STOP_MS_MAX, enough.signal).then(
        () => log.warn({ consumers: retiring.size }, "consumers do not stop, leaving them to the broker"),
        () => undefined,
      );
      await Promise.race([Promise.all(retiring), late]);
      enough.abort();
    },
  };
}

function parkFor(source: ConsumedSource, { db, clock, log }: ConsumersOptions): ParkBatch {
  return async (batch: DeadLetter[]) => {
    for (let from = 0; from < batch.length; from += PARK_BATCH_MAX) {
      const letters = batch.slice(from, from + PARK_BATCH_MAX);
      const outcomes = await parkEvents(
        { db, clock },
        letters.map((letter) => ({ source: source.name, letter })),
        systemViewer(`source:${source.name}`),
      );
      // Not committed: the source was removed meanwhile. The broker keeps the messages.
      if (outcomes.includes("unknown-source")) throw new DomainError("unknown-source", `${source.name} was removed`);
      // Thrown, so that the consumer parks the messages one by one and sets aside those that the store refuses.
      if (outcomes.includes("rejected")) {
        throw new DomainError("invalid-request", "the store refuses a message's values");
      }
      log.info({ source: source.name, events: letters.length }, "parked");
    }
  };
}

async function report({ source, consumer, fault }: Running, options: ConsumersOptions): Promise<void> {
  await writeState(source, consumer?.state() ?? { ...IDLE, state: "failing", lastError: fault }, options);
}

async function writeState(
  source: ConsumedSource,
  state: ConsumerState,
  { db, workerId }: ConsumersOptions,
): Promise<void> {
  await writeSourceState(db, source.id, { worker: workerId, state });
}
