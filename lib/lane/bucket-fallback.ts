import { atMost, type Clock } from "@/lib/platform/clock";
import { newTokenBucket, refilled, type TokenBucketState } from "@/lib/retry/rate/token-bucket";
import { assertAffordable, assertTakeable, TOKEN_EPSILON, upToAnswer, waitMsUntil } from "./bucket-spec";
import type { BucketSpec, TokenBucket } from "./port";

/** While the shared bucket does not answer: `closed` sends nothing, `local` sends each worker's share of the rate. */
export type BucketFallback = "closed" | "local";

/** `unreachable` = nothing can be sent now; `local` = sends go at this worker's share. */
export type BucketState = "shared" | "local" | "unreachable";

export type BucketChange = {
  key: string;
  state: BucketState;
  /** What this worker sends by itself now; null unless `state` is local. */
  ratePerSecond: number | null;
  /** The error of the shared bucket when its outage began; null when the outage is over. */
  error: unknown;
};

export type GuardedBucket = TokenBucket & {
  /** How takes of this bucket are served now. */
  state(key: string): BucketState;
  /** The same over all buckets that were lately asked for. */
  worst(): BucketState;
};

type BucketFallbackOptions = {
  fallback: BucketFallback;
  /** Workers alive as far as known, this one included, 1 or more: each sends a share of the rate. */
  workers: () => number;
  clock: Clock;
  /** Called when an outage of a bucket begins and when it ends. */
  onChange: (change: BucketChange) => void;
};

/** A shared bucket that is silent for longer does not answer: sends must not wait for a dead connection's timeout. */
const PATIENCE_MS = 1_000;

/** First and longest pause between two tries of the shared bucket during an outage. */
const LOOK_MS = 250;
const LOOK_MS_MAX = 2_000;

/** A bucket without a take for this long is left out of the state: its redrive is over. */
const ASKED_MS = 10_000;
const FORGET_MS = 600_000;

type Outage = {
  local: TokenBucketState;
  /** Tokens issued here and not yet taken from the shared bucket. */
  owed: number;
  askedMs: number;
  lookAtMs: number;
  looks: number;
  looking: boolean;
};

/**
 * A distributed bucket with a choice of what to do when it cannot be reached.
 *
 * With `closed` takes reject as the bucket's own do. With `local` they never reject for an outage: while it lasts this
 * worker's own bucket serves them. It starts empty, refills at ratePerSecond / workers and holds burst / workers, at
 * least one token. When the shared bucket is back, what was handed out meanwhile is taken from it and thrown away.
 *
 * Bound with `local`: when all workers lose the bucket together, rate * t + burst still holds, give or take a token a
 * worker and what they send between their looks at it. When only some lose it, those send their shares on top of what
 * the others get: at most rate * (1 + lost / workers).
 */
export function guardBucket(bucket: TokenBucket, options: BucketFallbackOptions): GuardedBucket {
  const { clock, fallback } = options;
  const outages = createBucketOutages(options);

  /** Asks the shared bucket, or serves from the local one. `serve` takes tokens out of a state and answers. */
  async function served<Answer>(
    spec: BucketSpec,
    ask: () => Promise<Answer>,
    serve: (tokens: number) => { taken: number; answer: Answer },
  ): Promise<Answer> {
    const outage = outages.of(spec.key);
    if (outage && fallback === "local") return servedHere(spec, outage, serve);
    try {
      const answer = await (fallback === "local" ? patiently(clock, ask()) : ask());
      outages.end(spec.key);
      return answer;
    } catch (error) {
      if (error instanceof RangeError) throw error;
      const begun = outages.begin(spec, error);
      if (fallback === "closed") throw error;
      return servedHere(spec, begun, serve);
    }
  }

  function servedHere<Answer>(
    spec: BucketSpec,
    outage: Outage,
    serve: (tokens: number) => { taken: number; answer: Answer },
  ): Answer {
    const now = refilled(shareOf(spec, options.workers()), outage.local, clock.nowMs());
    const { taken, answer } = serve(now.tokens);
    outage.local = { ...now, tokens: now.tokens - taken };
    outage.owed += taken;
    outage.askedMs = clock.nowMs();
    if (!outage.looking && clock.nowMs() >= outage.lookAtMs) void look(spec, outage);
    return answer;
  }

  /** Tries the shared bucket. When it answers, the tokens issued here are taken from it first. Never rejects. */
  async function look(spec: BucketSpec, outage: Outage): Promise<void> {
    outage.looking = true;
    try {
      const { owed } = outage;
      if (owed > 0) await patiently(clock, bucket.takeUpTo(spec, owed));
      else if ((await patiently(clock, bucket.level(spec))) === null) throw new Error("the bucket does not answer");
      outages.end(spec.key);
    } catch {
      // The outage goes on: it was reported when it began.
      outage.looks++;
      outage.lookAtMs = clock.nowMs() + Math.min(LOOK_MS * 2 ** outage.looks, LOOK_MS_MAX);
    } finally {
      outage.looking = false;
    }
  }

  return {
    state: outages.stateOf,
    worst: outages.worst,
    level: (spec) => bucket.level(spec),
    takeUpTo: async (spec, cost) => {
      assertTakeable(spec, cost);
      return served(
        spec,
        () => bucket.takeUpTo(spec, cost),
        (tokens) => {
          const { ratePerSecond } = shareOf(spec, options.workers());
          const some = Math.max(0, Math.min(cost, Math.floor(tokens + (spec.lent ?? 0) + TOKEN_EPSILON)));
          const granted = ratePerSecond === 0 ? 0 : some;
          return { taken: granted, answer: upToAnswer({ ...spec, ratePerSecond }, granted, tokens - granted) };
        },
      );
    },
    take: async (spec, cost) => {
      assertAffordable(spec, cost);
      return served<Awaited<ReturnType<TokenBucket["take"]>>>(
        spec,
        () => bucket.take(spec, cost),
        (tokens) => {
          const { ratePerSecond } = shareOf(spec, options.workers());
          if (ratePerSecond > 0 && tokens + TOKEN_EPSILON >= cost) return { taken: cost, answer: { granted: true } };
          return { taken: 0, answer: { granted: false, waitMs: waitMsUntil(cost, tokens, ratePerSecond) } };
        },
      );
    },
  };
}

function shareOf({ ratePerSecond, burst }: BucketSpec, workers: number) {
  const share = Math.max(1, workers);
  return { ratePerSecond: ratePerSecond / share, capacity: Math.max(1, burst / share), warmUpMs: 0 };
}

/** The outages of single buckets, from the first take that fails to the first one that is answered. */
function createBucketOutages({ clock, fallback, workers, onChange }: BucketFallbackOptions) {
  const outages = new Map<string, Outage>();

  function begin(spec: BucketSpec, error: unknown): Outage {
    const nowMs = clock.nowMs();
    const known = outages.get(spec.key);
    if (known) {
      known.askedMs = nowMs;
      return known;
    }
    forget(nowMs);
    const local = newTokenBucket(shareOf(spec, workers()), nowMs, 0);
    const outage = { local, owed: 0, askedMs: nowMs, lookAtMs: nowMs + LOOK_MS, looks: 0, looking: false };
    outages.set(spec.key, outage);
    const ratePerSecond = fallback === "local" ? shareOf(spec, workers()).ratePerSecond : null;
    onChange({ key: spec.key, state: stateOf(spec.key), ratePerSecond, error });
    return outage;
  }

  /** Ends outages of buckets without a take for a long time. */
  function forget(nowMs: number): void {
    for (const [key, { askedMs }] of outages) if (nowMs - askedMs > FORGET_MS) outages.delete(key);
  }

  function end(key: string): void {
    if (outages.delete(key)) onChange({ key, state: "shared", ratePerSecond: null, error: null });
  }

  function stateOf(key: string): BucketState {
    if (!outages.has(key)) return "shared";
    return fallback === "local" ? "local" : "unreachable";
  }

  return {
    of: (key: string) => outages.get(key),
    begin,
    end,
    stateOf,
    worst: (): BucketState => {
      const nowMs = clock.nowMs();
      const asked = [...outages].find(([, { askedMs }]) => nowMs - askedMs <= ASKED_MS);
      return asked ? stateOf(asked[0]) : "shared";
    },
  };
}

/** Rejects when the answer takes longer than PATIENCE_MS. Tokens of a late answer are given up: fewer sends, never more. */
async function patiently<T>(clock: Clock, answer: Promise<T>): Promise<T> {
  const answered = await atMost(
    clock,
    PATIENCE_MS,
    answer.then((value) => ({ value })),
  );
  if (answered === null) throw new Error(`the token bucket did not answer within ${PATIENCE_MS} ms`);
  return answered.value;
}
