import { randomUUID } from "node:crypto";
import { type Signing, signingFault } from "@/lib/brokers/http/request-signature";
import { host, withDefaults } from "@/lib/kit/host";
import { type Delivery, deliver, ParkadeUnavailable } from "@/lib/kit/park/deliver";
import { type FailedMessage, type ParkEvent, parkEvent } from "@/lib/kit/park/event";
import type { DropReason, Parked, Parker, ParkerObserver, ParkerOptions } from "@/lib/kit/park/parker-types";
import { Spool, SpoolFull } from "@/lib/kit/park/spool";
import { assertWhole } from "@/lib/kit/sql";
import { type Backoff, backoffMs } from "@/lib/retry/backoff/backoff";

const BACKOFF: Backoff = { kind: "exponential", baseMs: 500, factor: 2, capMs: 15_000, jitter: { kind: "equal" } };
/** Below the time after which other machines take over the segments of this one. */
const ROUND_MS_MAX = 15_000;

/** How long the disk alone is used after a failed request: were it full or broken, Parkade is asked again. */
const DOWN_MS = 1_000;
/** A gateway that refuses everything is asked about no more of the segments behind, at each try. */
const SEGMENTS_TRIED_MAX = 20;

/** `toDisk`: it went, or goes, to the disk: a failed request does not spool it once more. */
type Waiting = { event: ParkEvent; settle: (parked: Parked) => void; toDisk: boolean };

/** Throws TypeError for options that cannot work. The folder is made on first use. */
export function createParker(options: ParkerOptions): Parker {
  return new SpoolingParker(options);
}

class SpoolingParker implements Parker {
  readonly #options: Required<Omit<ParkerOptions, "token" | "signing" | "url">>;
  readonly #url: URL;
  readonly #token: string | null;
  readonly #signing: Signing | null;
  readonly #spool: Spool;
  readonly #closing = new AbortController();
  #started: Promise<void> | null = null;
  #queue: Waiting[] = [];
  #sending: Promise<void> | null = null;
  #replaying: Promise<boolean> | null = null;
  #retrying: Promise<void> | null = null;
  #memoryBytes = 0;
  /** Part of the Idempotency-Keys: another one after an answer that is not to be given again. */
  #keySalt = "";
  /** After a failed request events go to the disk at once, until one succeeds or this time has passed. Monotonic. */
  #downUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: ParkerOptions) {
    this.#options = withDefaults(options, {
      spoolBytesMax: 64 * 1024 * 1024,
      fsync: "each" as const,
      waitMsMax: 2_000,
      requestTimeoutMs: 5_000,
      batch: 200,
      memoryBytesMax: 16 * 1024 * 1024,
      backoff: BACKOFF,
      observer: {},
      fetch: globalThis.fetch,
      ...host,
    });
    if (!URL.canParse(options.url))
      throw new TypeError(`url is ${JSON.stringify(options.url)}: give Parkade's address`);
    if (!options.source) throw new TypeError("source is empty: give the name of the source in Parkade");
    if (!options.spoolDir) throw new TypeError("spoolDir is empty: give a folder that outlives the process");
    assertWhole("batch", this.#options.batch, 1, 10_000);
    assertWhole("waitMsMax", this.#options.waitMsMax, 1, 600_000);
    this.#url = new URL("/api/v1/events", options.url);
    this.#token = options.token ?? null;
    this.#signing = options.signing ?? null;
    const fault = this.#signing && signingFault(this.#signing);
    if (fault !== null) throw new TypeError(`signing.${fault}`);
    const { spoolDir, spoolBytesMax, fsync, clock } = this.#options;
    this.#spool = new Spool({ folder: spoolDir, bytesMax: spoolBytesMax, fsync, clock });
  }

  get source(): string {
    return this.#options.source;
  }

  async park(error: unknown, message: FailedMessage): Promise<Parked> {
    const { clock, source, waitMsMax, memoryBytesMax } = this.#options;
    let event: ParkEvent;
    try {
      event = parkEvent(error, message, { source, nowMs: clock.wallMs() });
    } catch (fault) {
      return this.#dropped(null, "invalid", fault instanceof Error ? fault.message : String(fault));
    }
    const { eventId } = event;
    if (this.#closing.signal.aborted) return this.#dropped(eventId, "closed", "the parker was closed");
    if (this.#memoryBytes + event.line.length > memoryBytesMax) {
      return this.#dropped(
        eventId,
        "memory-full",
        `more than ${memoryBytesMax} bytes wait: await park, or raise memoryBytesMax`,
      );
    }
    this.#memoryBytes += event.line.length;
    const { promise, resolve } = Promise.withResolvers<Parked>();
    // Half of the time is Parkade's, the rest is the disk's.
    const waiting: Waiting = { event, settle: resolve, toDisk: false };
    const toDisk = clock.timer(waitMsMax / 2, () => void this.#spoolOnce(waiting));
    const late = clock.timer(waitMsMax, () => {
      resolve(this.#dropped(eventId, "timeout", `neither Parkade nor the disk answered within ${waitMsMax} ms`));
    });
    void this.#handOver(waiting);
    const parked = await promise;
    toDisk();
    late();
    this.#memoryBytes -= event.line.length;
    if (parked.status !== "dropped") this.#tell("parked", { status: parked.status, eventId });
    return parked;
  }

  /** To Parkade when it answers and nothing waits on disk, else behind what waits. */
  async #handOver(waiting: Waiting): Promise<void> {
    await this.#start();
    if (this.#options.clock.nowMs() < this.#downUntilMs || this.#spool.holds) await this.#spoolOnce(waiting);
    if (waiting.toDisk) return;
    this.#queue.push(waiting);
    this.#sending ??= this.#sendQueue().finally(() => {
      this.#sending = null;
    });
  }

  /** A process that died left segments, which this one replays. */
  async #start(): Promise<void> {
    this.#started ??= this.#spool.start().then(
      () => {
        if (this.#spool.holds) this.#retry();
      },
      (error: unknown) => {
        this.#started = null;
        this.#tell("outage", { error, delayMs: 0 });
      },
    );
    await this.#started;
  }

  async #sendQueue(): Promise<void> {
    while (this.#queue.length > 0) {
      const waiting = this.#queue.splice(0, this.#options.batch);
      try {
        const results = await this.#deliver(waiting.map(({ event }) => event));
        for (const [at, { event, settle }] of waiting.entries()) settle(this.#settled(event, results[at]!));
      } catch {
        const rest = [...waiting, ...this.#queue.splice(0)];
        // In the order of their arrival.
        await Promise.all(rest.map((each) => this.#spoolOnce(each)));
      }
    }
  }

  /** Takes it out of the queue, so that `memoryBytesMax` bounds what is held. */
  async #spoolOnce(waiting: Waiting): Promise<void> {
    if (waiting.toDisk) return;
    waiting.toDisk = true;
    const at = this.#queue.indexOf(waiting);
    if (at >= 0) this.#queue.splice(at, 1);
    waiting.settle(await this.#toDisk(waiting.event));
  }

  #settled({ eventId }: ParkEvent, result: Delivery): Parked {
    if (result.kind === "stored") return { status: "stored", eventId };
    return this.#dropped(eventId, "refused", `${result.code}: ${result.detail}`);
  }

  async #toDisk(event: ParkEvent): Promise<Parked> {
    const { eventId } = event;
    try {
      await this.#spool.append(event.line);
      this.#retry();
      return { status: "spooled", eventId };
    } catch (error) {
      if (error instanceof SpoolFull) {
        return this.#dropped(
          eventId,
          "spool-full",
          `the spool has no room: spoolBytesMax is ${this.#options.spoolBytesMax}`,
        );
      }
      return this.#dropped(eventId, "spool-failed", error instanceof Error ? error.message : String(error));
    }
  }

  /** Rejects with ParkadeUnavailable. */
  async #deliver(events: readonly ParkEvent[]): Promise<Delivery[]> {
    const { clock, fetch, requestTimeoutMs } = this.#options;
    const late = new AbortController();
    const cancel = clock.timer(requestTimeoutMs, () => late.abort(new Error("Parkade did not answer in time")));
    try {
      const results = await deliver(events, {
        url: this.#url,
        token: this.#token,
        signing: this.#signing,
        keySalt: this.#keySalt,
        fetch,
        wallMs: clock.wallMs,
        signal: late.signal,
      });
      this.#downUntilMs = Number.NEGATIVE_INFINITY;
      return results;
    } catch (error) {
      this.#downUntilMs = clock.nowMs() + DOWN_MS;
      if (error instanceof ParkadeUnavailable && error.answered) this.#keySalt = randomUUID();
      throw error;
    } finally {
      cancel();
    }
  }

  /** Replays until the spool is empty. */
  #retry(): void {
    this.#retrying ??= this.#retryUntilEmpty().finally(() => {
      this.#retrying = null;
    });
  }

  async #retryUntilEmpty(): Promise<void> {
    const { backoff, random } = this.#options;
    const { signal } = this.#closing;
    for (let failures = 0; !signal.aborted; ) {
      try {
        if (await this.#replay()) return;
        failures = 0;
      } catch (error) {
        const asked = error instanceof ParkadeUnavailable ? (error.retryAfterMs ?? 0) : 0;
        const delayMs = Math.max(backoffMs(backoff, ++failures, null, random), asked);
        this.#tell("outage", { error, delayMs });
        await this.#pause(delayMs);
      }
    }
  }

  /** Touches the segments during a long pause, so that no other machine takes them for abandoned. */
  async #pause(delayMs: number): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closing;
    for (let leftMs = delayMs; leftMs > 0 && !signal.aborted; leftMs -= ROUND_MS_MAX) {
      await this.#spool.segments().catch(() => undefined);
      await clock.sleep(Math.min(leftMs, ROUND_MS_MAX), signal).catch(() => undefined);
    }
  }

  /** One replay at a time. True when nothing waits; rejects when Parkade or the disk cannot. */
  #replay(): Promise<boolean> {
    this.#replaying ??= this.#replayOnce().finally(() => {
      this.#replaying = null;
    });
    return this.#replaying;
  }

  async #replayOnce(): Promise<boolean> {
    await this.#spool.rotate();
    const segments = await this.#spool.segments();
    let cameThrough = false;
    for (const [at, segment] of segments.entries()) {
      if (this.#closing.signal.aborted) return false;
      let count = 0;
      let left = await this.#spool.read(segment);
      while (left.length > 0) {
        const lines = left.slice(0, this.#options.batch);
        left = left.slice(lines.length);
        const stored = await this.#replayLines(lines).catch(async (error: unknown) => {
          const tooLarge = error instanceof ParkadeUnavailable ? error.tooLarge : null;
          if (tooLarge === null) throw error;
          cameThrough ||= await this.#comesThrough(left, segments.slice(at + 1));
          if (!cameThrough) throw error;
          for (const line of lines) await this.#setAside(line, tooLarge);
          return 0;
        });
        cameThrough ||= stored > 0;
        count += stored;
        await this.#spool.touch();
      }
      await this.#spool.remove(segment);
      this.#tell("replayed", { count });
    }
    await this.#spool.segments();
    return !this.#spool.holds;
  }

  /**
   * Whether a gateway that has called events too large lets one of those behind them through: the smallest of each segment is
   * tried. Parkade stores it then, and takes it for a repeat when its turn comes.
   */
  async #comesThrough(left: readonly string[], segments: readonly string[]): Promise<boolean> {
    for (const each of [left, ...segments.slice(0, SEGMENTS_TRIED_MAX)]) {
      const lines = typeof each === "string" ? await this.#spool.read(each) : each;
      const whole = lines.filter((one) => eventIdOf(one) !== "");
      const [line] = whole.sort((one, other) => one.length - other.length);
      if (line === undefined) continue;
      try {
        await this.#deliver([{ eventId: eventIdOf(line), line }]);
        return true;
      } catch (error) {
        if (!(error instanceof ParkadeUnavailable && error.tooLarge)) throw error;
      }
    }
    return false;
  }

  /** @returns how many of the events Parkade has now */
  async #replayLines(lines: readonly string[]): Promise<number> {
    const events = lines.map((line): ParkEvent => ({ eventId: eventIdOf(line), line }));
    // A torn line would spoil the request of its neighbours.
    const whole = events.filter(({ eventId }) => eventId !== "");
    for (const { line } of events.filter(({ eventId }) => eventId === "")) {
      await this.#setAside(line, { code: "invalid-json", detail: "The line of the spool is not an event" });
    }
    const results = whole.length === 0 ? [] : await this.#deliver(whole);
    for (const [at, result] of results.entries()) {
      if (result.kind === "refused") await this.#setAside(whole[at]!.line, result);
    }
    return results.filter(({ kind }) => kind === "stored").length;
  }

  async #setAside(line: string, { code, detail }: { code: string; detail: string }): Promise<void> {
    try {
      await this.#spool.setAside(line, { code, detail });
    } catch (error) {
      if (!(error instanceof SpoolFull)) throw error;
      // The event was acknowledged: it stays in the spool, and what comes later behind it.
      throw new ParkadeUnavailable(
        `Parkade refused a spooled event (${code}: ${detail}), and refused.ndjson in ${this.#options.spoolDir} is full: move it away`,
      );
    }
    this.#tell("setAside", { eventId: eventIdOf(line) || null, code, detail });
  }

  async flush(): Promise<boolean> {
    await this.#start();
    while (this.#sending !== null) await this.#sending;
    while (!this.#closing.signal.aborted) {
      // The caller sees the outage by the answer, the observer by the retries.
      const done = await this.#replay().catch(() => null);
      if (done !== false) return done === true;
    }
    return false;
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the parker was closed"));
    while (this.#sending !== null) await this.#sending;
    await this.#retrying;
    await this.#replaying?.catch(() => false);
    // A disk that fails has told so to each `park`.
    await this.#spool.close().catch(() => undefined);
  }

  #dropped(eventId: string | null, reason: DropReason, detail: string): Parked {
    this.#tell("dropped", { eventId, reason, detail });
    return { status: "dropped", eventId, reason, detail };
  }

  #tell<Hook extends keyof ParkerObserver>(hook: Hook, facts: Parameters<NonNullable<ParkerObserver[Hook]>>[0]): void {
    try {
      (this.#options.observer[hook] as ((given: typeof facts) => void) | undefined)?.(facts);
    } catch {
      // A fault of a metric must not reach the consumer.
    }
  }
}

/** Empty when the line is no event. */
function eventIdOf(line: string): string {
  try {
    const event: { eventId?: unknown } | null = JSON.parse(line);
    return typeof event?.eventId === "string" ? event.eventId : "";
  } catch {
    return "";
  }
}
