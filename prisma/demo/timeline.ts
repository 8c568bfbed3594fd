import type { Failure } from "./failure-shape";
import { FAILURES } from "./failures";
import type { Random } from "./random";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

export const HISTORY_DAYS = 9;
/** Events of one step share a transaction and a time, like the batch of a consumer. */
const STEP_MS = 15 * 60_000;

export type Step = { atMs: number; failures: Failure[] };

/** The times of the failures over the last days: about `total` of them, oldest first. */
export function timelineOf(nowMs: number, total: number, random: Random): Step[] {
  const steps: number[] = [];
  for (let atMs = nowMs - HISTORY_DAYS * DAY_MS; atMs < nowMs; atMs += STEP_MS) steps.push(atMs);
  const weights = FAILURES.reduce((sum, failure) => sum + failure.weight, 0);
  const expected = FAILURES.map((failure) => {
    const shape = steps.map((atMs) => intensity(failure, atMs, nowMs));
    const scale = (total * failure.weight) / weights / (shape.reduce((sum, one) => sum + one, 0) || 1);
    return shape.map((one) => one * scale);
  });
  return steps.map((atMs, index) => ({
    atMs: atMs + random.whole(0, STEP_MS - 1_000),
    failures: FAILURES.flatMap((failure, which) =>
      Array<Failure>(drawn(expected[which]![index]!, random)).fill(failure),
    ),
  }));
}

/** A whole number whose mean is `expected`. */
function drawn(expected: number, random: Random): number {
  const spread = expected * (0.6 + random.next() * 0.8);
  return Math.floor(spread) + (random.next() < spread % 1 ? 1 : 0);
}

/** The likelihood of a failure at a moment, in relative units. */
function intensity({ rhythm }: Failure, atMs: number, nowMs: number): number {
  switch (rhythm?.kind) {
    case undefined: {
      const hour = (atMs % DAY_MS) / HOUR_MS;
      return 1 + 0.8 * Math.sin(((hour - 8) / 24) * 2 * Math.PI);
    }
    case "burst": {
      const distance = (atMs - (nowMs - rhythm.daysAgo * DAY_MS)) / (rhythm.hours * HOUR_MS);
      return Math.exp(-4 * distance * distance) + 0.01;
    }
    case "recent": {
      const since = (atMs - (nowMs - rhythm.hours * HOUR_MS)) / (rhythm.hours * HOUR_MS);
      return since < 0 ? 0.01 : 0.15 + since * since;
    }
  }
}
