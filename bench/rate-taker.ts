import type { LaneConnection } from "@/lib/lane/connection";
import type { BucketSpec, TokenBucket } from "@/lib/lane/port";
import type { Issue } from "@/lib/lane/testing/window-excess";
import { openTokenBucket } from "@/lib/lane/token-bucket";
import { systemClock } from "@/lib/platform/clock";
import { createTokenFeeder } from "@/lib/redrive/pace/token-feeder";

/**
 * One worker process of the rate bench: `attempts` loops that take a token and note when they would send. Starts when
 * the parent says `start`, and on `stop` answers with what it noted, in milliseconds of the machine's monotonic clock,
 * which all processes share: the moments of its sends, and for each take that brought tokens when it was asked and when
 * it was answered.
 */
export type TakerSettings = { connection: LaneConnection; spec: BucketSpec; attempts: number };
export type TakerNotes = { sentMs: number[]; issues: Issue[] };

const settings = JSON.parse(process.argv[2]!) as TakerSettings;
const machineMs = () => Number(process.hrtime.bigint() / 1_000n) / 1_000;

const fail = (error: unknown) => {
  throw error;
};
const { bucket, close } = await openTokenBucket(settings.connection, fail);
const notes: TakerNotes = { sentMs: [], issues: [] };
const noting: TokenBucket = {
  ...bucket,
  takeUpTo: async (spec, cost) => {
    const fromMs = machineMs();
    const answer = await bucket.takeUpTo(spec, cost);
    if (answer.granted > 0) notes.issues.push({ fromMs, toMs: machineMs(), tokens: answer.granted });
    return answer;
  },
};
const feeder = createTokenFeeder({ bucket: noting, spec: () => settings.spec, clock: systemClock, onError: fail });
const stopping = new AbortController();

async function attempt(): Promise<void> {
  while (!stopping.signal.aborted) {
    try {
      await feeder.take(stopping.signal);
    } catch (error) {
      if (error === stopping.signal.reason) return;
      throw error;
    }
    notes.sentMs.push(machineMs());
  }
}

let attempts: Promise<unknown> = Promise.resolve();
process.on("message", (message) => {
  if (message === "start") attempts = Promise.all(Array.from({ length: settings.attempts }, attempt));
  if (message === "stop") {
    stopping.abort();
    void attempts.then(close).then(() => process.send?.(notes, () => process.disconnect()));
  }
});
process.send?.("ready");
