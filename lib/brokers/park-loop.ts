import type { AdapterDeps, Consumer, ConsumerState, ParkBatch, Reader, ReadSession, Taken } from "@/lib/brokers/port";

/** Full-jitter bounds of the pause after a lost connection or a batch that could not be committed. */
const BACKOFF_MS = { first: 500, max: 30_000 };
/** How often the lag is read. */
const LAG_EVERY_MS = 5_000;
/** How often a message that alone cannot be committed is tried again. */
const SET_ASIDE_MS = 60_000;
/** A session that lasted this long was healthy: the next loss starts again with the short pause. */
const HEALTHY_MS = 30_000;
/** This many single commits that fail in a row, with none that succeeds, are an outage and not bad messages. */
const OUTAGE_AFTER = 3;

export type ParkLoopDeps = AdapterDeps & {
  /** Called with every failure, for the log; a person sees `state()`. */
  report: (what: string, error: unknown) => void;
};

/** The commit failed; the broker gets the batch back. */
class ParkRejected extends Error {
  override readonly name = "ParkRejected";
}

/** Codes are safe to show; the texts of a database are not. */
function parkFailure(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code !== "" ? code : error instanceof Error ? error.name : "unknown error";
}

function messages(count: number): string {
  return count === 1 ? "1 message" : `${count} messages`;
}

type Session<Handle> = {
  read: ReadSession<Handle>;
  /** Messages that could not be committed while others could: kept unacknowledged, tried again at `retryAtMs`. */
  setAside: Taken<Handle>[];
  retryAtMs: number;
};

/**
 * Parks what a reader reads, until stopped: a batch is committed, then acknowledged. A batch that fails is committed one
 * by one, so that one bad message does not hold up the others: it is set aside and tried again. When nothing can be
 * committed the store is out, and the broker gets everything back, or the batch is held where a return would cost a
 * delivery. A lost connection is made again after a pause that grows.
 */
export class ParkLoop<Handle> implements Consumer {
  private readonly reader: Reader<Handle>;
  private readonly park: ParkBatch;
  private readonly deps: ParkLoopDeps;
  private readonly stopping = new AbortController();
  private readonly stopped: Promise<void>;
  private current: ConsumerState = { state: "connecting", lag: null, lastError: null, parked: 0, parts: [] };
  private failures = 0;
  /** Commits fail: a reconnect alone is no recovery. */
  private parkFails = false;

  constructor(reader: Reader<Handle>, park: ParkBatch, deps: ParkLoopDeps) {
    this.reader = reader;
    this.park = park;
    this.deps = deps;
    this.stopped = this.run();
  }

  state(): ConsumerState {
    return { ...this.current };
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.stopped;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await this.session(signal);
      } catch (error) {
        if (signal.aborted) break;
        this.failing(error);
        await this.pause(signal);
      }
    }
    this.current = { ...this.current, state: "stopped", parts: [] };
  }

  private failing(error: unknown): void {
    // A rejected commit has set a better text already.
    const lastError = error instanceof ParkRejected ? this.current.lastError : this.reader.describe(error);
    this.current = { ...this.current, state: "failing", lag: null, lastError, parts: [] };
    if (!(error instanceof ParkRejected)) this.deps.report(`cannot read ${this.reader.what}`, error);
  }

  /** Exponential, with jitter, capped; ends at once on stop. */
  private async pause(signal: AbortSignal): Promise<void> {
    const ceiling = Math.min(BACKOFF_MS.first * 2 ** Math.min(this.failures, 16), BACKOFF_MS.max);
    this.failures += 1;
    // Never 0: a broker that accepts a connection and closes it must not get a stream of connections.
    const ms = BACKOFF_MS.first / 2 + this.deps.random() * ceiling;
    await this.deps.clock.sleep(Math.min(ms, BACKOFF_MS.max), signal).catch(() => undefined); // stopped
  }

  private async session(signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    const read = await this.reader.open(signal);
    const startedMs = clock.nowMs();
    const ended = new AbortController();
    let lost = true;
    try {
      this.current = { ...this.current, state: this.parkFails ? "failing" : "running" };
      if (!this.parkFails) this.current.lastError = null;
      void this.watchLag(read, AbortSignal.any([signal, ended.signal]));
      await this.read({ read, setAside: [], retryAtMs: 0 }, signal);
      lost = false;
    } catch (error) {
      lost = !(error instanceof ParkRejected);
      throw error;
    } finally {
      ended.abort();
      if (!this.parkFails && clock.nowMs() - startedMs > HEALTHY_MS) this.failures = 0;
      await read.close(!lost);
    }
  }

  private async watchLag(read: ReadSession<Handle>, signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const { total, parts } = await read.lag();
        if (signal.aborted) return;
        this.current = { ...this.current, lag: total, parts };
        await this.deps.clock.sleep(LAG_EVERY_MS, signal);
      }
    } catch {
      // The session ended, or fails in `take` for the same reason.
    }
  }

  private async read(session: Session<Handle>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const within = session.setAside.length > 0 ? SET_ASIDE_MS : undefined;
      const batch = await session.read.take(this.reader.batchMax, signal, within);
      if (signal.aborted) return;
      await this.retrySetAside(session, signal);
      if (batch.length > 0 && !signal.aborted) await this.settle(session, batch, signal);
    }
  }

  /** Commits a batch, then acknowledges it. Nothing is acknowledged that was not committed. */
  private async settle(session: Session<Handle>, batch: Taken<Handle>[], signal: AbortSignal): Promise<void> {
    try {
      await this.park(batch.map((one) => one.letter));
    } catch (error) {
      this.rejected(batch.length, error);
      if (batch.length > 1 && (await this.oneByOne(session, batch, signal))) return;
      await this.giveBackOrHold(session, batch, signal);
      return;
    }
    await this.committed(session, batch);
  }

  private async committed(session: Session<Handle>, batch: readonly Taken<Handle>[]): Promise<void> {
    this.failures = 0;
    this.parkFails = false;
    const { setAside } = session;
    const lastError =
      setAside.length === 0
        ? null
        : `${messages(setAside.length)} of ${this.reader.what} cannot be committed and stays there`;
    if (batch.length > 0) await session.read.acknowledge(batch.map((one) => one.handle));
    this.current = { ...this.current, state: "running", lastError, parked: this.current.parked + batch.length };
  }

  private rejected(count: number, error: unknown): void {
    this.parkFails = true;
    const refused = `${messages(count)} of ${this.reader.what}`;
    const lastError = `${refused} could not be committed (${parkFailure(error)})`;
    this.current = { ...this.current, state: "failing", lastError };
    this.deps.report(`could not park ${refused}`, error);
  }

  /**
   * One bad message must not hold up the others: each message is committed alone. False when no message could be
   * committed, which is an outage. Messages that fail while others succeed are set aside and tried again later.
   */
  private async oneByOne(session: Session<Handle>, batch: Taken<Handle>[], signal: AbortSignal): Promise<boolean> {
    const failed: Taken<Handle>[] = [];
    let succeeded = 0;
    for (const one of batch) {
      if (signal.aborted) return true; // the other messages go back with the session
      try {
        await this.park([one.letter]);
      } catch (error) {
        failed.push(one);
        if (succeeded === 0 && failed.length >= OUTAGE_AFTER) return false;
        this.deps.report(`could not park one message of ${this.reader.what}`, error);
        continue;
      }
      succeeded += 1;
      await this.committed(session, [one]);
    }
    if (succeeded === 0) return false;
    session.setAside.push(...failed);
    session.retryAtMs = this.deps.clock.nowMs() + SET_ASIDE_MS;
    await this.committed(session, []);
    // A window full of messages set aside would stop the reading: the session ends, and begins anew after the pause.
    if (session.setAside.length >= session.read.inHandMax) throw new ParkRejected();
    return true;
  }

  private async retrySetAside(session: Session<Handle>, signal: AbortSignal): Promise<void> {
    if (session.setAside.length === 0 || this.deps.clock.nowMs() < session.retryAtMs) return;
    session.retryAtMs = this.deps.clock.nowMs() + SET_ASIDE_MS;
    for (const one of [...session.setAside]) {
      if (signal.aborted) return;
      try {
        await this.park([one.letter]);
      } catch (error) {
        this.deps.report(`could not park one message of ${this.reader.what}`, error);
        continue;
      }
      session.setAside = session.setAside.filter((other) => other !== one);
      await this.committed(session, [one]);
    }
  }

  private async giveBackOrHold(session: Session<Handle>, batch: Taken<Handle>[], signal: AbortSignal): Promise<void> {
    if (!batch.some((one) => one.deliveries >= this.reader.holdFromDeliveries)) throw new ParkRejected();
    for (;;) {
      await this.pause(signal);
      if (signal.aborted) return;
      session.read.assertOpen(); // otherwise the broker has the messages back and delivers them again
      try {
        await this.park(batch.map((one) => one.letter));
      } catch (error) {
        this.rejected(batch.length, error);
        continue;
      }
      await this.committed(session, batch);
      return;
    }
  }
}
