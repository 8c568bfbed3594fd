import { host, withDefaults } from "@/lib/kit/host";
import {
  archiveSent,
  type Claim,
  type ClaimedEvent,
  ClaimTable,
  type FailedEvent,
  type OutboxBacklog,
  readOutboxBacklog,
  type WhenFailed,
} from "@/lib/kit/outbox/claims";
import type { MessageResult, Transport } from "@/lib/kit/outbox/message";
import { outboxChannel } from "@/lib/kit/outbox/table";
import { createWakeUp, type ListenPool } from "@/lib/kit/outbox/wake-up";
import { assertWhole, type RunSql, runnerOf, type SqlSession } from "@/lib/kit/sql";
import type { Clock } from "@/lib/platform/clock";
import { type Backoff, backoffMs } from "@/lib/retry/backoff/backoff";
import type { Random } from "@/lib/retry/clock";

export type PublisherOptions = {
  /** A pool of pg, or anything that runs SQL. NOTIFY is listened to when it has `connect()`; else it only polls. */
  pool: SqlSession | ListenPool;
  transport: Transport;
  table?: string;
  /** Events of one claim. Default 500. */
  batch?: number;
  /** Claims that are published at the same time by this publisher. Default 2. */
  concurrency?: number;
  /** How long a claim lasts, by the database's clock: a crashed publisher's events are sent again after it. Default 30 s. */
  leaseMs?: number;
  /** Time limit of one call of the transport; below the lease. Default 10 s. */
  publishTimeoutMs?: number;
  /** How often an idle publisher looks for events that no NOTIFY announced. Default 1 s. */
  pollMs?: number;
  /** Failed sends of one event until it is FAILED. An outage of the receiver counts for none. Default 10. */
  maxAttempts?: number;
  /** The wait after a failed send. Default: 1 s, doubled each time, at most 5 min, full jitter. */
  backoff?: Backoff;
  /** `hold`: a FAILED event holds the later events of its aggregate until a person decides. `release`: they go on. */
  whenFailed?: WhenFailed;
  /** Sent rows are kept this long, then moved to `archive` or deleted. null = for ever. Default 7 days. */
  keepSentMs?: number | null;
  archive?: string;
  observer?: PublisherObserver;
  clock?: Clock;
  random?: Random;
};

/** Hooks for metrics and logs. An error that a hook throws is ignored. */
export type PublisherObserver = {
  sent?(facts: { count: number; elapsedMs: number }): void;
  /** `final`: the event is FAILED. `attempts` counts this one. */
  failed?(facts: {
    event: ClaimedEvent["message"];
    error: unknown;
    attempts: number;
    delayMs: number;
    final: boolean;
  }): void;
  /** The receiver or the database cannot be reached; the publisher waits `delayMs`. */
  outage?(facts: { error: unknown; delayMs: number }): void;
  /** The lease ended before the result was recorded: these events may be sent twice. */
  leaseLost?(facts: { ids: string[] }): void;
  archived?(facts: { count: number }): void;
};

export type OutboxPublisher = {
  /** Publishes until nothing is due, and resolves with the number of sent events. Rejects on an outage. */
  drain(): Promise<number>;
  /** Finishes the sends under way, records them and gives back the other claims. */
  stop(): Promise<void>;
};

const BACKOFF: Backoff = { kind: "exponential", baseMs: 1_000, factor: 2, capMs: 300_000, jitter: { kind: "full" } };
/** The receiver is asked again soon after it is back. */
const OUTAGE_BACKOFF: Backoff = {
  kind: "exponential",
  baseMs: 200,
  factor: 2,
  capMs: 15_000,
  jitter: { kind: "equal" },
};
/** The wait of a message that alone got no answer: each try may keep its claim for as long as `publishTimeoutMs`. */
const ALONE_FAILURES = 8;
/** How long an aborted transport has to say what arrived. */
const GRACE_MS_MAX = 2_000;
/** Receivers that are away, of which this process keeps the waits. */
const AWAY_MAX = 10_000;
const ARCHIVE_EVERY_MS = 60_000;
const ARCHIVE_BATCH = 5_000;
const ERROR_CHARS_MAX = 2_000;

type Settings = Required<Omit<PublisherOptions, "archive" | "pool">> & Pick<PublisherOptions, "archive">;

/** Starts publishing at once. Throws TypeError for options that cannot work. */
export function createOutboxPublisher(options: PublisherOptions): OutboxPublisher {
  const settings = settingsOf(options);
  const publisher = new Publisher(runnerOf(options.pool), settings);
  const wakeUp = createWakeUp(options.pool, outboxChannel(settings.table), settings);
  const stopping = new AbortController();
  const lanes = Array.from({ length: settings.concurrency }, () =>
    publishUntil(stopping.signal, publisher, wakeUp.wait),
  );
  lanes.push(archiveUntil(stopping.signal, publisher));
  return {
    drain: () => publisher.drain(stopping.signal),
    stop: async () => {
      stopping.abort(new Error("the publisher stops"));
      await Promise.all([...lanes, wakeUp.stop()]);
    },
  };
}

/** Publishes what is due once, without a running publisher: for a job or a test. Resolves with the number of sent events. */
export async function publishDue(options: PublisherOptions): Promise<number> {
  return new Publisher(runnerOf(options.pool), settingsOf(options)).drain(new AbortController().signal);
}

/** The unsent events of a table, for a gauge and an alert. */
export function outboxBacklog(pool: SqlSession, table = "outbox"): Promise<OutboxBacklog> {
  return readOutboxBacklog(runnerOf(pool), table);
}

function settingsOf(options: PublisherOptions): Settings {
  const settings: Settings = withDefaults(options, {
    table: "outbox",
    batch: 500,
    concurrency: 2,
    leaseMs: 30_000,
    publishTimeoutMs: 10_000,
    pollMs: 1_000,
    maxAttempts: 10,
    backoff: BACKOFF,
    whenFailed: "hold",
    keepSentMs: 7 * 86_400_000,
    observer: {},
    ...host,
  });
  assertWhole("batch", settings.batch, 1, 10_000);
  assertWhole("concurrency", settings.concurrency, 1, 64);
  assertWhole("leaseMs", settings.leaseMs, 100, 3_600_000);
  assertWhole("maxAttempts", settings.maxAttempts, 1, 1_000_000);
  assertWhole("pollMs", settings.pollMs, 1, 3_600_000);
  if (!(settings.publishTimeoutMs > 0 && settings.publishTimeoutMs <= settings.leaseMs / 2)) {
    throw new TypeError(
      `publishTimeoutMs is ${settings.publishTimeoutMs}: it must be at most half of leaseMs (${settings.leaseMs}), so that a send ends before its lease`,
    );
  }
  return settings;
}

type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

async function publishUntil(signal: AbortSignal, publisher: Publisher, wait: Wait): Promise<void> {
  const { clock, random, pollMs } = publisher.settings;
  let outages = 0;
  while (!signal.aborted) {
    try {
      const { claimed } = await publisher.pass(signal);
      outages = 0;
      if (claimed === 0) await wait(pollMs, signal);
    } catch (error) {
      const delayMs = backoffMs(OUTAGE_BACKOFF, ++outages, null, random);
      publisher.tell("outage", { error, delayMs });
      // The sleep rejects only on stop.
      await clock.sleep(delayMs, signal).catch(() => undefined);
    }
  }
}

async function archiveUntil(signal: AbortSignal, publisher: Publisher): Promise<void> {
  const { clock, keepSentMs } = publisher.settings;
  if (keepSentMs === null) return;
  while (!signal.aborted) {
    try {
      await publisher.archive(keepSentMs);
    } catch (error) {
      publisher.tell("outage", { error, delayMs: ARCHIVE_EVERY_MS });
    }
    await clock.sleep(ARCHIVE_EVERY_MS, signal).catch(() => undefined);
  }
}

/** The results of one claim, until they are recorded. */
type Results = { sent: string[]; failed: FailedEvent[]; untried: string[]; outage: { error: unknown } | null };

class Publisher {
  readonly settings: Settings;
  readonly #run: RunSql;
  readonly #table: ClaimTable;
  /** By destination: outages in a row, and until when nothing is sent there. Monotonic. */
  readonly #away = new Map<string, { failures: number; untilMs: number; error: unknown }>();

  constructor(run: RunSql, settings: Settings) {
    this.settings = settings;
    this.#run = run;
    this.#table = new ClaimTable(run, settings.table, settings.whenFailed);
  }

  async drain(signal: AbortSignal): Promise<number> {
    for (let total = 0; ; ) {
      const { claimed, sent } = await this.pass(signal);
      total += sent;
      if (claimed === 0 || signal.aborted) return total;
    }
  }

  /** Claims, publishes and records once. Rejects on an outage, after the sent events are recorded. */
  async pass(signal: AbortSignal): Promise<{ claimed: number; sent: number }> {
    const { clock, batch, leaseMs } = this.settings;
    // Counted from before the claim: this process never believes in a lease that the database has ended.
    const startedMs = clock.nowMs();
    const claim = await this.#table.claim(batch, leaseMs);
    if (claim.events.length === 0) return { claimed: 0, sent: 0 };
    const results = await this.#publish(claim, startedMs + leaseMs, signal);
    await this.#record(results, claim.token, clock.nowMs() - startedMs);
    if (results.outage !== null) throw results.outage.error;
    return { claimed: claim.events.length, sent: results.sent.length };
  }

  async archive(keepSentMs: number): Promise<void> {
    const { table, archive } = this.settings;
    const count = await archiveSent(this.#run, { table, archive, olderThanMs: keepSentMs, batch: ARCHIVE_BATCH });
    if (count > 0) this.tell("archived", { count });
  }

  /** One call for all, or one call for the next event of each aggregate until none is left. */
  async #publish(claim: Claim, leaseEndMs: number, signal: AbortSignal): Promise<Results> {
    const { clock, publishTimeoutMs, transport } = this.settings;
    const results: Results = { sent: [], failed: [], untried: [], outage: null };
    const aggregates = [
      ...Map.groupBy(claim.events, ({ message }) =>
        JSON.stringify([message.aggregateType, message.aggregateId]),
      ).values(),
    ];
    for (let lines = aggregates; ; ) {
      lines = lines.filter(([next]) => next !== undefined && this.#awayMs(next) === 0);
      const inTime = clock.nowMs() + publishTimeoutMs + this.#graceMs < leaseEndMs;
      if (lines.length === 0 || signal.aborted || !inTime) break;
      const wave = transport.keepsOrder ? lines.flat() : lines.map((line) => line[0]!);
      const startedMs = clock.nowMs();
      const answers = await this.#send(wave, results);
      if (answers === null) break;
      this.#noteReceivers(wave, answers, clock.nowMs() - startedMs);
      const stopped = this.#note(wave, answers, results);
      lines = transport.keepsOrder ? [] : lines.filter(([first]) => !stopped.has(first!)).map((line) => line.slice(1));
    }
    const known = new Set([...results.sent, ...results.failed.map(({ id }) => id)]);
    for (const event of aggregates.flatMap((line) => line.find(({ message }) => !known.has(message.id)) ?? [])) {
      const delayMs = this.#awayMs(event);
      if (delayMs === 0) continue;
      // Else the events of a receiver that hangs would fill each claim, and those of the others would get no turn.
      const error = errorText(this.#away.get(event.message.destination)!.error);
      results.failed.push({ id: event.message.id, error, delayMs, final: false, counts: false });
      known.add(event.message.id);
    }
    results.untried = claim.events.flatMap(({ message: { id } }) => (known.has(id) ? [] : [id]));
    return results;
  }

  get #graceMs(): number {
    return Math.min(GRACE_MS_MAX, this.settings.publishTimeoutMs / 2);
  }

  #awayMs({ message }: ClaimedEvent): number {
    return Math.max(0, (this.#away.get(message.destination)?.untilMs ?? 0) - this.settings.clock.nowMs());
  }

  /** null after an outage, which `results` holds. An aborted transport is awaited: what it knows as sent is not sent again. */
  async #send(wave: readonly ClaimedEvent[], results: Results): Promise<MessageResult[] | null> {
    const { clock, publishTimeoutMs, transport } = this.settings;
    const late = new AbortController();
    const beginNoMore = new AbortController();
    const { promise, reject } = Promise.withResolvers<never>();
    const error = new DOMException(`the transport did not answer within ${publishTimeoutMs} ms`, "TimeoutError");
    const cancels = [
      clock.timer(publishTimeoutMs / 2, () => beginNoMore.abort(error)),
      clock.timer(publishTimeoutMs, () => late.abort(error)),
      clock.timer(publishTimeoutMs + this.#graceMs, () => reject(error)),
    ];
    try {
      const messages = wave.map(({ message }) => message);
      const answers = await Promise.race([transport.publishMany(messages, late.signal, beginNoMore.signal), promise]);
      if (answers.length === wave.length) return answers;
      throw new TypeError(`the transport gave ${answers.length} results for ${wave.length} messages`);
    } catch (error) {
      results.outage = { error };
      return null;
    } finally {
      for (const cancel of cancels) cancel();
    }
  }

  /** Notes the results of a wave. Returns the events that were not sent. */
  #note(wave: readonly ClaimedEvent[], answers: readonly MessageResult[], results: Results): Set<ClaimedEvent> {
    const { backoff, maxAttempts, random } = this.settings;
    const stopped = new Set<ClaimedEvent>();
    wave.forEach((event, at) => {
      const answer = answers[at]!;
      const { message } = event;
      if (answer.ok) {
        results.sent.push(message.id);
        return;
      }
      stopped.add(event);
      if (answer.untried) return;
      const counts = answer.outage !== true;
      const attempts = event.attempts + (counts ? 1 : 0);
      const final = counts && (answer.permanent === true || attempts >= maxAttempts);
      const wait = counts
        ? backoffMs(backoff, attempts, null, random)
        : this.#awayMs(event) || backoffMs(OUTAGE_BACKOFF, ALONE_FAILURES, null, random);
      const delayMs = final ? 0 : Math.max(wait, answer.retryAfterMs ?? 0);
      results.failed.push({ id: message.id, error: errorText(answer.error), delayMs, final, counts });
      this.tell("failed", { event: message, error: answer.error, attempts, delayMs, final });
    });
    return stopped;
  }

  /**
   * A destination of which each send of a wave met an outage is away, for as long as the wave took at least: a receiver
   * that hangs has half of the time. One other answer brings it back.
   */
  #noteReceivers(wave: readonly ClaimedEvent[], answers: readonly MessageResult[], tookMs: number): void {
    const { clock, random } = this.settings;
    const begun = answers.flatMap((answer, at) =>
      !answer.ok && answer.untried ? [] : [{ answer, destination: wave[at]!.message.destination }],
    );
    for (const [destination, sends] of Map.groupBy(begun, (send) => send.destination)) {
      const outages = sends.flatMap(({ answer }) => (!answer.ok && answer.outage ? [answer] : []));
      const failures = (this.#away.get(destination)?.failures ?? 0) + 1;
      this.#away.delete(destination);
      if (outages.length < sends.length) continue;
      const asked = Math.max(...outages.map(({ retryAfterMs = 0 }) => retryAfterMs));
      const untilMs = clock.nowMs() + Math.max(backoffMs(OUTAGE_BACKOFF, failures, null, random), asked, tookMs);
      if (this.#away.size >= AWAY_MAX) this.#away.delete(this.#away.keys().next().value!);
      this.#away.set(destination, { failures, untilMs, error: outages[0]!.error });
    }
  }

  async #record({ sent, failed, untried }: Results, token: string, elapsedMs: number): Promise<void> {
    if (sent.length > 0) {
      const recorded = new Set(await this.#table.markSent(sent, token));
      if (recorded.size > 0) this.tell("sent", { count: recorded.size, elapsedMs });
      const ids = sent.filter((id) => !recorded.has(id));
      if (ids.length > 0) this.tell("leaseLost", { ids });
    }
    if (failed.length > 0) await this.#table.markFailed(failed, token);
    if (untried.length > 0) await this.#table.release(untried, token);
  }

  tell<Hook extends keyof PublisherObserver>(
    hook: Hook,
    facts: Parameters<NonNullable<PublisherObserver[Hook]>>[0],
  ): void {
    try {
      (this.settings.observer[hook] as ((given: typeof facts) => void) | undefined)?.(facts);
    } catch {
      // A fault of a metric must not stop the publisher.
    }
  }
}

function errorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  // PostgreSQL stores no NUL and no half of a surrogate pair.
  return text.replaceAll("\0", "").slice(0, ERROR_CHARS_MAX).toWellFormed();
}
