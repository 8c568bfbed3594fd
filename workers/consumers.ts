import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { Consumer, ConsumerState, ParkBatch } from "@/lib/brokers/port";
import type { BrokerRegistry } from "@/lib/brokers/registry";
import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import { PARK_BATCH_MAX, parkEvents } from "@/lib/intake/park-events";
import { roomSentence } from "@/lib/intake/room/room.pure";
import { type MeasuredRoom, readIntakeStops } from "@/lib/intake/room/room.read";
import { stormSentence } from "@/lib/intake/storms/storm.pure";
import type { Storm } from "@/lib/intake/storms/thin-out";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import { atMost, type Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import type { Log } from "@/lib/platform/log";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import type { Paces } from "@/lib/platform/plain/paces.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type ConsumedSource, readConsumedSources } from "@/lib/sources/consumed-sources.read";
import { finishDrain } from "@/lib/sources/finish-drain";
import { removeConsumer, writeConsumer } from "@/lib/sources/source-consumers.write";

export type ConsumersOptions = {
  db: Db;
  clock: Clock;
  log: Log;
  brokers: Pick<BrokerRegistry, "consume">;
  archive: ArchiveStore | null;
  /** The name of this worker among the workers that report the state of a source. */
  workerId: string;
  paces: Pick<Paces, "consumersMs" | "consumersStopMs">;
};

export type Consumers = {
  running(): number;
  /** Waits until the received batches are finished or given back to their broker. */
  stop(): Promise<void>;
};

/** The rate of a source is taken over this long. */
const RATE_WINDOW_MS = 60_000;

type Count = { atMs: number; parked: number; parts: ReadonlyMap<string, number> };

/** A source without a consumer: its configuration cannot be used here. */
type Fault = { message: string; atMs: number };
type Running = {
  source: ConsumedSource;
  consumer: Consumer | null;
  fault: Fault | null;
  /** How many events had been parked, at the reports of the last minute. */
  counts: Count[];
  /** The last storm that the queue keeps the rest of. */
  storm: Storm | null;
};

/** Keeps a consumer for each source that is read from a broker, in its mode, and reports its state. */
export function startConsumers(options: ConsumersOptions): Consumers {
  const { clock, db, log } = options;
  const running = new Map<string, Running>();
  const retiring = new Set<Promise<void>>();
  /** Why nothing is taken in; null = events are taken in. */
  let stop: MeasuredRoom | null = null;
  let stopped = false;
  let cancel = () => {};
  let round: Promise<void> = Promise.resolve();

  const loop = () => {
    round = refresh()
      .catch((error) => log.warn({ err: error }, "sources not read, consuming on"))
      .finally(() => {
        if (!stopped) cancel = clock.timer(options.paces.consumersMs, loop);
      });
  };

  async function refresh(): Promise<void> {
    const [sources, stops] = await Promise.all([readConsumedSources(db), readIntakeStops(db)]);
    stop = stops[0] ?? null;
    const wanted = new Map(sources.map((source) => [source.id, source]));
    for (const [id, held] of running) {
      const source = wanted.get(id);
      // One that could not be opened is opened again when somebody asks for an attempt.
      const asked = source?.retriedAt !== held.source.retriedAt;
      if (source?.revision === held.source.revision && !(asked && held.consumer === null)) {
        // A drain that was ended and begun again within one round looks unchanged, and is another drain.
        const isAnew = source.mode === "draining" && source.modeAt !== held.source.modeAt;
        held.source = source;
        if (isAnew) held.consumer?.steer("running");
        held.consumer?.steer(modeOf(held));
        if (asked) held.consumer?.retryNow();
        continue;
      }
      running.delete(id);
      retire(held, { removed: source === undefined });
    }
    for (const source of sources) {
      if (stopped) return;
      if (!running.has(source.id)) running.set(source.id, open(source));
    }
    await Promise.all([...running.values()].map((held) => report(held, stop, options)));
  }

  /** Without room for events, and for the rest of a minute with a storm, the brokers keep them. */
  function modeOf(held: Running): ConsumedSource["mode"] {
    return heldBackBy(held, stop, clock.wallMs()) === null ? held.source.mode : "paused";
  }

  /** Its end may take as long as its broker is silent. Only the end of the worker waits for it. */
  function retire({ source, consumer }: Running, { removed }: { removed: boolean }): void {
    const ending = (async () => {
      await consumer?.stop();
      if (removed) await removeConsumer(db, source.id, options.workerId);
    })().catch((error) => log.warn({ source: source.name, err: error }, "consumer not stopped in good order"));
    retiring.add(ending);
    void ending.finally(() => retiring.delete(ending));
  }

  function open(source: ConsumedSource): Running {
    const held: Running = { source, consumer: null, fault: null, counts: [], storm: null };
    try {
      const config = parseSourceConfig(source.kind, source.config);
      const onStorm = (storm: Storm) => {
        held.storm = storm;
        held.consumer?.steer("paused");
      };
      held.consumer = options.brokers.consume(config, parkFor(source, onStorm, options), {
        name: source.name,
        mode: modeOf(held),
      });
      log.info({ source: source.name, kind: source.kind, mode: source.mode }, "consuming");
      return held;
    } catch (error) {
      const message = error instanceof DomainError ? error.message : "the source cannot be opened";
      log.warn({ source: source.name, err: error }, "source cannot be opened");
      held.fault = { message, atMs: clock.wallMs() };
      return held;
    }
  }

  loop();
  return {
    running: () => running.size,
    stop: async () => {
      stopped = true;
      cancel();
      await round;
      for (const held of running.values()) retire(held, { removed: true });
      running.clear();
      if ((await atMost(clock, options.paces.consumersStopMs, Promise.all(retiring))) === null)
        log.warn({ consumers: retiring.size }, "consumers do not stop, leaving them to the broker");
    },
  };
}

/** Why a source that should be read is not, and since when; null = it is. */
function heldBackBy({ source, storm }: Running, stop: MeasuredRoom | null, nowMs: number) {
  if (source.mode === "paused") return null;
  if (stop !== null) return { why: roomSentence(stop), sinceMs: stop.sinceMs };
  if (storm === null || nowMs >= storm.endsAtMs) return null;
  return { why: stormSentence(storm.limit), sinceMs: storm.atMs };
}

function parkFor(
  source: ConsumedSource,
  onStorm: (storm: Storm) => void,
  { db, clock, log, archive }: ConsumersOptions,
): ParkBatch {
  return async (batch: DeadLetter[], facts) => {
    let storm: Storm | null = null;
    for (let from = 0; from < batch.length; from += PARK_BATCH_MAX) {
      const letters = batch.slice(from, from + PARK_BATCH_MAX);
      const outcomes = await parkEvents(
        { db, clock, archive, log },
        letters.map((letter) => ({ source: source.name, letter })),
        systemViewer(`source:${source.name}`),
        {
          whole: true,
          onStorm: facts?.keepsAcknowledged ? undefined : (now) => (storm = now),
        },
      );
      // Not committed: the source was removed meanwhile. The broker keeps the messages.
      if (outcomes.includes("unknown-source")) throw new DomainError("unknown-source", `${source.name} was removed`);
      // Thrown, so that the consumer parks the messages one by one and sets aside those that the store refuses.
      if (outcomes.includes("rejected")) {
        throw new DomainError("invalid-request", "the store refuses a message's values");
      }
      log.info({ source: source.name, events: letters.length }, "parked");
    }
    // After the commit: what is in hand is acknowledged, and the rest stays in the queue until the minute is over.
    if (storm !== null) onStorm(storm);
  };
}

async function report(held: Running, stop: MeasuredRoom | null, options: ConsumersOptions): Promise<void> {
  const { db, clock, log, workerId } = options;
  const { source, consumer, fault } = held;
  const own = consumer?.state() ?? faulty(fault!);
  const back = consumer === null ? null : heldBackBy(held, stop, clock.wallMs());
  const state = back === null ? own : { ...own, lastError: back.why, lastErrorAtMs: back.sinceMs };
  const of = { sourceId: source.id, worker: workerId, modeAt: source.modeAt };
  await writeConsumer(db, { ...state, ...of, ...ratesOf(held, state, clock.nowMs()) });
  if (source.mode !== "draining" || state.state !== "drained") return;
  if (await finishDrain({ db, clock }, source, systemViewer("worker"))) log.info({ source: source.name }, "drained");
}

function faulty({ message, atMs }: Fault): ConsumerState {
  const error = { lastError: message, lastErrorAtMs: atMs };
  return { state: "failing", ...error, lag: null, retryAtMs: null, parked: 0, parts: [] };
}

/** Events parked per second since the oldest report of the last minute, also of each part; null at the first. */
function ratesOf({ counts }: Running, { parked, parts }: ConsumerState, atMs: number) {
  counts.push({ atMs, parked, parts: new Map(parts.map((part) => [part.name, part.parked ?? 0])) });
  while (counts.length > 2 && counts[1]!.atMs <= atMs - RATE_WINDOW_MS) counts.shift();
  const [first] = counts;
  const rate = (now: number, before: number) =>
    atMs === first!.atMs ? null : ((now - before) * 1_000) / (atMs - first!.atMs);
  return {
    ratePerSecond: rate(parked, first!.parked),
    parts: parts.map(({ name, lag, setAside, parked: own }) => {
      // The count of a part that went to another worker and came back begins anew.
      const before = first!.parts.get(name) ?? 0;
      return { name, lag, setAside, ratePerSecond: own === null || own < before ? null : rate(own, before) };
    }),
  };
}
