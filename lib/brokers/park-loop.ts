import {
  isEmpty,
  isRefusal,
  lagOf,
  ParkRejected,
  parkFailure,
  type Session,
  stillHeld,
} from "@/lib/brokers/park-session";
import type {
  AdapterDeps,
  Consumer,
  ConsumerState,
  Lag,
  ParkBatch,
  Reader,
  ReadMode,
  ReadSession,
  Taken,
} from "@/lib/brokers/port";
import { type Backoff, backoffMs } from "@/lib/retry/backoff/backoff";

/** The pause after a lost connection or a batch that could not be committed. */
const BACKOFF = {
  kind: "exponential",
  baseMs: 500,
  factor: 2,
  capMs: 30_000,
  jitter: { kind: "full" },
} as const satisfies Backoff;
/** Added to each pause: a broker that accepts a connection and closes it must not get a stream of connections. */
const PAUSE_MS_MIN = 250;
const DRAIN_WAIT_MS_DEFAULT = 2_000;
const LAG_EVERY_MS = 5_000;
/** How often a message that alone cannot be committed is tried again. */
const SET_ASIDE_MS = 60_000;
/** A session that lasted this long was healthy: the next loss starts again with the short pause. */
const HEALTHY_MS = 30_000;
/** A notice of a reader is shown for so long, and stays as the last error after it. */
const NOTICE_MS = 60_000;
/** This many single commits that fail in a row, with none that succeeds, are an outage and not bad messages. */
const OUTAGE_AFTER = 3;

export type ParkLoopDeps = AdapterDeps & {
  /** Called with every failure, for the log; a person sees `state()`. */
  report: (what: string, error: unknown) => void;
  /** How long a draining source waits for a message before it is counted as empty, if its broker counts none. */
  drainWaitMs?: number;
};

/**
 * Parks what a reader reads, until stopped: a batch is committed, then acknowledged. A batch that fails is committed one
 * by one, so that one bad message does not hold up the others: it is set aside and tried again. When nothing can be
 * committed the store is out, and the broker gets everything back, or the batch is held where a return would cost a
 * delivery. A lost connection is made again after a pause that grows. A source that is paused, or empty after a drain, has
 * no connection: its broker has everything back, counts nothing as in hand and runs no limit of time against it.
 */
export class ParkLoop<Handle> implements Consumer {
  private readonly reader: Reader<Handle>;
  private readonly park: ParkBatch;
  private readonly deps: ParkLoopDeps;
  private readonly stopping = new AbortController();
  private readonly stopped: Promise<void>;
  private mode: ReadMode;
  /** The source was found empty while it drained: the number of messages left; null = it was not. */
  private drained: Pick<Lag, "total"> | null = null;
  /** Ends with the present mode. */
  private turn = new AbortController();
  private turnSignal = AbortSignal.any([this.stopping.signal, this.turn.signal]);
  private nudge = new AbortController();
  private open: Session<Handle> | null = null;
  private current: Omit<ConsumerState, "parts"> & Pick<Lag, "parts"> = {
    state: "connecting",
    lag: null,
    lastError: null,
    lastErrorAtMs: null,
    retryAtMs: null,
    parked: 0,
    parts: [],
  };
  private failures = 0;
  /** Commits fail: a reconnect alone is no recovery. */
  private parkFails = false;
  private notice: { text: string; atMs: number } | null = null;

  constructor(reader: Reader<Handle>, park: ParkBatch, deps: ParkLoopDeps, mode: ReadMode = "running") {
    this.reader = reader;
    this.park = park;
    this.deps = deps;
    this.mode = mode;
    this.stopped = this.run();
  }

  state(): ConsumerState {
    const { read, setAside = [] } = this.open ?? {};
    const aside = Map.groupBy(setAside, ({ handle }) => read?.partOf?.(handle));
    const parts = this.current.parts.map((part) => ({ ...part, setAside: aside.get(part.name)?.length ?? 0 }));
    return { ...this.current, parts };
  }

  steer(mode: ReadMode): void {
    if (mode === this.mode) return;
    this.mode = mode;
    this.drained = null;
    const { turn } = this;
    this.turn = new AbortController();
    this.turnSignal = AbortSignal.any([this.stopping.signal, this.turn.signal]);
    turn.abort();
    this.nudge.abort();
  }

  retryNow(): void {
    if (this.open !== null) this.open.retryAtMs = 0;
    this.nudge.abort();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.stopped;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const turn = this.turnSignal;
      if (this.isPaused() || this.drained !== null) {
        await this.rest(turn);
        continue;
      }
      try {
        await this.session(signal, turn);
      } catch (error) {
        if (signal.aborted) break;
        this.failing(error);
        if (!this.isPaused()) await this.pause(signal);
      }
    }
    this.current = { ...this.current, state: "stopped", retryAtMs: null, parts: [] };
  }

  /** Without a connection, until the mode changes. What a drained source still counted stays on show. */
  private async rest(turn: AbortSignal): Promise<void> {
    const emptied =
      this.drained === null
        ? { state: "paused" as const, lag: null, parts: [] }
        : { state: "drained" as const, lag: this.drained.total };
    this.failures = 0;
    this.parkFails = false;
    this.current = { ...this.current, lastError: null, retryAtMs: null, ...emptied };
    if (!turn.aborted) await new Promise((resolve) => turn.addEventListener("abort", resolve, { once: true }));
    if (!this.stopping.signal.aborted) this.current = { ...this.current, state: "connecting" };
  }

  private failing(error: unknown): void {
    this.current = { ...this.current, state: "failing", lag: null, parts: [] };
    if (error instanceof ParkRejected) return; // `rejected` has set a better text already
    this.current = { ...this.current, ...this.errorNow(this.reader.describe(error)) };
    this.deps.report(`cannot read ${this.reader.what}`, error);
  }

  private errorNow(lastError: string): Pick<ConsumerState, "lastError" | "lastErrorAtMs"> {
    return { lastError, lastErrorAtMs: this.deps.clock.wallMs() };
  }

  /** Ends at once on stop, on another mode, and when somebody asks for an attempt. */
  private async pause(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.deps;
    this.failures += 1;
    const ms = Math.min(PAUSE_MS_MIN + backoffMs(BACKOFF, this.failures, null, random), BACKOFF.capMs);
    this.nudge = new AbortController();
    this.current = { ...this.current, retryAtMs: clock.wallMs() + ms };
    await clock.sleep(ms, AbortSignal.any([signal, this.nudge.signal])).catch(() => undefined); // ended early
    this.current = { ...this.current, retryAtMs: null };
  }

  private tell(text: string): void {
    this.notice = { text, atMs: this.deps.clock.wallMs() };
    this.current = { ...this.current, ...this.notified() };
    this.deps.report(text, null);
  }

  /** What is shown as the last error where there is none. */
  private notified(): Pick<ConsumerState, "lastError" | "lastErrorAtMs"> {
    if (this.notice === null || this.deps.clock.wallMs() - this.notice.atMs > NOTICE_MS) this.notice = null;
    const { text = null, atMs = this.current.lastErrorAtMs } = this.notice ?? {};
    return { lastError: text, lastErrorAtMs: atMs };
  }

  private showLag({ total, parts }: Lag): void {
    this.current = { ...this.current, lag: total, parts };
  }

  private isPaused(): boolean {
    return this.mode === "paused";
  }

  private readingState(): "running" | "draining" {
    return this.mode === "draining" ? "draining" : "running";
  }

  /** null when the mode changed meanwhile: an attempt that is cut off is no failure. A later change ends no connection. */
  private async connect(signal: AbortSignal, turn: AbortSignal): Promise<ReadSession<Handle> | null> {
    const opening = new AbortController();
    const cut = () => opening.abort();
    turn.addEventListener("abort", cut, { once: true });
    try {
      return await this.reader.open(AbortSignal.any([signal, opening.signal]), (notice) => this.tell(notice));
    } catch (error) {
      if (opening.signal.aborted && !signal.aborted) return null;
      throw error;
    } finally {
      turn.removeEventListener("abort", cut);
    }
  }

  private async session(signal: AbortSignal, turn: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    const read = await this.connect(signal, turn);
    if (read === null) return;
    const startedMs = clock.nowMs();
    const ended = new AbortController();
    const session: Session<Handle> = { read, ahead: Promise.resolve([]), setAside: [], retryAtMs: 0, emptyWaits: 0 };
    this.open = session;
    let lost = true;
    try {
      this.current = { ...this.current, state: this.parkFails ? "failing" : this.readingState() };
      if (!this.parkFails) this.current = { ...this.current, ...this.notified() };
      void this.watchLag(session, AbortSignal.any([signal, ended.signal]));
      await this.read(session, signal);
      lost = false;
    } catch (error) {
      lost = !(error instanceof ParkRejected);
      throw error;
    } finally {
      this.open = null;
      ended.abort();
      if (!this.parkFails && clock.nowMs() - startedMs > HEALTHY_MS) this.failures = 0;
      await session.ahead;
      await read.close(!lost);
    }
  }

  private async watchLag(session: Session<Handle>, signal: AbortSignal): Promise<void> {
    const { read } = session;
    while (!signal.aborted) {
      const lag = await lagOf(read);
      if (signal.aborted) return;
      this.showLag(lag);
      if (this.notice !== null && !this.parkFails && session.setAside.length === 0)
        this.current = { ...this.current, ...this.notified() };
      await this.deps.clock.sleep(LAG_EVERY_MS, signal).catch(() => undefined); // the session ended
    }
  }

  /** Returns when the loop stops, when the source is paused, and when it was drained. */
  private async read(session: Session<Handle>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.isPaused()) {
      const turn = this.turnSignal;
      const draining = this.mode === "draining";
      if (this.current.state === "running" || this.current.state === "draining")
        this.current = { ...this.current, state: this.readingState() };
      const { drainWaitMs = DRAIN_WAIT_MS_DEFAULT } = this.deps;
      const within = draining ? drainWaitMs : session.setAside.length > 0 ? SET_ASIDE_MS : undefined;
      const batch = await this.take(session, this.reader.batchMax, turn, within);
      if (signal.aborted || this.isPaused()) return; // what was taken goes back with the session
      await this.retrySetAside(session, signal);
      session.emptyWaits = batch.length > 0 || turn.aborted ? 0 : session.emptyWaits + 1;
      if (batch.length > 0 && !signal.aborted) {
        const settled = this.settle(session, batch, signal);
        this.readAhead(session);
        await settled;
      } else if (draining && (await isEmpty(session, (lag) => this.showLag(lag))) && !turn.aborted) {
        this.drained = { total: this.current.lag };
        return;
      }
    }
  }

  private async take(
    session: Session<Handle>,
    max: number,
    turn: AbortSignal,
    withinMs?: number,
  ): Promise<Taken<Handle>[]> {
    const ahead = stillHeld(session.read, await session.ahead);
    session.ahead = Promise.resolve(ahead.slice(max));
    return ahead.length > 0 ? ahead.slice(0, max) : session.read.take(max, turn, withinMs);
  }

  /** Reads the messages that are there now, so that the store does not wait for the broker after each commit, nor the broker for it. */
  private readAhead(session: Session<Handle>): void {
    const { read } = session;
    if (!read.readsAhead) return;
    session.ahead = session.ahead
      .then((left) => (left.length > 0 ? left : read.take(this.reader.batchMax, this.turnSignal, 1)))
      .catch(() => []); // the connection is lost: the next call rejects as well
  }

  /** Commits a batch, then acknowledges it. Nothing is acknowledged that was not committed. */
  private async settle(session: Session<Handle>, batch: Taken<Handle>[], signal: AbortSignal): Promise<void> {
    try {
      await this.commit(session, batch);
    } catch (error) {
      this.rejected(batch.length, error);
      if ((batch.length > 1 || isRefusal(error)) && (await this.oneByOne(session, batch, signal))) return;
      await this.giveBackOrHold(session, batch, signal);
      return;
    }
    await this.committed(session, batch);
  }

  private commit({ read }: Session<Handle>, batch: readonly Taken<Handle>[]): Promise<void> {
    return this.park(
      batch.map((one) => one.letter),
      { keepsAcknowledged: read.keepsAcknowledged ?? false },
    );
  }

  private async committed(session: Session<Handle>, batch: readonly Taken<Handle>[]): Promise<void> {
    this.failures = 0;
    this.parkFails = false;
    const { setAside } = session;
    const kept = `${messages(setAside.length)} of ${this.reader.what} cannot be committed and stays there`;
    const error = setAside.length === 0 ? this.notified() : this.errorNow(kept);
    if (batch.length > 0) await session.read.acknowledge(batch.map((one) => one.handle));
    const parked = this.current.parked + batch.length;
    this.current = { ...this.current, state: this.readingState(), ...error, parked };
  }

  private rejected(count: number, error: unknown): void {
    this.parkFails = true;
    const refused = `${messages(count)} of ${this.reader.what}`;
    const said = this.errorNow(`${refused} could not be committed (${parkFailure(error)})`);
    this.current = { ...this.current, state: "failing", ...said };
    this.deps.report(`could not park ${refused}`, error);
  }

  /**
   * One bad message must not hold up the others: each message is committed alone. False when no message could be
   * committed and one failed for another reason than its own values, which is an outage. Messages that are refused, or fail
   * while others succeed, are set aside and tried again later.
   */
  private async oneByOne(session: Session<Handle>, batch: Taken<Handle>[], signal: AbortSignal): Promise<boolean> {
    const failed: Taken<Handle>[] = [];
    let succeeded = 0;
    let unexplained = 0;
    for (const one of batch) {
      if (signal.aborted) return true; // the other messages go back with the session
      try {
        await this.commit(session, [one]);
      } catch (error) {
        failed.push(one);
        if (!isRefusal(error)) unexplained += 1;
        if (succeeded === 0 && unexplained >= OUTAGE_AFTER) return false;
        this.deps.report(`could not park one message of ${this.reader.what}`, error);
        continue;
      }
      succeeded += 1;
      await this.committed(session, [one]);
    }
    if (succeeded === 0 && unexplained > 0) return false;
    session.setAside.push(...failed);
    session.retryAtMs = this.deps.clock.nowMs() + SET_ASIDE_MS;
    await this.committed(session, []);
    // A window full of messages set aside would stop the reading: the session ends, and begins anew after the pause.
    if (session.setAside.length >= session.read.inHandMax) throw new ParkRejected();
    return true;
  }

  private async retrySetAside(session: Session<Handle>, signal: AbortSignal): Promise<void> {
    const held = stillHeld(session.read, session.setAside);
    if (held.length < session.setAside.length) {
      session.setAside = held;
      await this.committed(session, []);
    }
    if (session.setAside.length === 0 || this.deps.clock.nowMs() < session.retryAtMs) return;
    session.retryAtMs = this.deps.clock.nowMs() + SET_ASIDE_MS;
    for (const one of [...session.setAside]) {
      if (signal.aborted) return;
      try {
        await this.commit(session, [one]);
      } catch (error) {
        this.deps.report(`could not park one message of ${this.reader.what}`, error);
        continue;
      }
      session.setAside = session.setAside.filter((other) => other !== one);
      await this.committed(session, [one]);
    }
  }

  /**
   * A held batch is committed one by one at each attempt that fails: the outage may be over and one of its messages bad. To a
   * batch of fewer messages than tell an outage, those are added that came since: a lone bad message holds up none of them.
   */
  private async giveBackOrHold(session: Session<Handle>, batch: Taken<Handle>[], signal: AbortSignal): Promise<void> {
    if (!batch.some((one) => one.deliveries >= this.reader.holdFromDeliveries)) throw new ParkRejected();
    let held = [...batch];
    for (;;) {
      await this.pause(signal);
      if (signal.aborted || this.isPaused()) return;
      session.read.assertOpen(); // otherwise the broker has the messages back and delivers them again
      held = stillHeld(session.read, held);
      const room = this.reader.batchMax - held.length;
      if (held.length < OUTAGE_AFTER && room > 0) held.push(...(await this.take(session, room, this.turnSignal, 1)));
      if (held.length === 0) return;
      try {
        await this.commit(session, held);
      } catch (error) {
        this.rejected(held.length, error);
        if (held.length > 1 && (await this.oneByOne(session, held, signal))) return;
        continue;
      }
      await this.committed(session, held);
      return;
    }
  }
}

function messages(count: number): string {
  return count === 1 ? "1 message" : `${count} messages`;
}
