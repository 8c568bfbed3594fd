import type { BulkheadPolicy } from "@/lib/retry/bulkhead";
import type { AttemptContext, AttemptRecord, Call, ExecuteOptions, Outcome } from "@/lib/retry/call";
import { createTargetState, execute, type TargetState } from "@/lib/retry/execute";
import type { Policy } from "@/lib/retry/policy";
import { type ManualClock, manualClock, settle } from "@/lib/retry/testing/manual-clock";
import { BARE } from "@/lib/retry/testing/vectors/operation";

/** One send that waits for the test to end it. */
type OpenSend = {
  context: AttemptContext;
  /** Milliseconds after the operation began. */
  atMs: number;
  resolve(value: string): void;
  reject(error: unknown): void;
};

export type Bench = {
  clock: ManualClock;
  target: TargetState;
  policy: Policy;
  sends: OpenSend[];
  records: AttemptRecord[];
  controller: AbortController;
  /** Starts an operation whose sends stay open until the test ends them. */
  start(call?: Partial<Call<string>>, options?: Partial<ExecuteOptions>): Promise<Outcome<string>>;
  /** An operation to its end. A step: a number lets so many ms pass, a text is the answer of the open send, an error its failure. */
  play(steps: readonly (number | string | Error)[], call?: Partial<Call<string>>): Promise<Outcome<string>>;
};

/** A target and a clock, with a policy that has only what the test adds to attempts and time. */
export function bench({ bulkhead, ...policy }: Partial<Policy> & { bulkhead?: BulkheadPolicy } = {}): Bench {
  const whole: Policy = { ...BARE, deadlineMs: 20_000, ...policy };
  const clock = manualClock();
  const target = createTargetState(whole, clock, { bulkhead });
  const sends: OpenSend[] = [];
  const records: AttemptRecord[] = [];
  const controller = new AbortController();
  const start: Bench["start"] = (call = {}, options = {}) => {
    const startMs = clock.nowMs();
    return execute<string>(
      {
        idempotencyKey: "key",
        retryable: true,
        attempt: (context) =>
          new Promise((resolve, reject) => {
            sends.push({ context, atMs: clock.nowMs() - startMs, resolve, reject });
          }),
        onClose: (record) => void records.push(record),
        ...call,
      },
      { policy: whole, target, clock, random: () => 0.5, signal: controller.signal, ...options },
    );
  };
  const play: Bench["play"] = async (steps, call) => {
    const done = start(call);
    for (const step of steps) {
      await clock.advance(typeof step === "number" ? step : 0);
      if (typeof step === "string") sends.at(-1)!.resolve(step);
      if (step instanceof Error) sends.at(-1)!.reject(step);
      await settle();
    }
    return done;
  };
  return { clock, target, policy: whole, sends, records, controller, start, play };
}

/** An error with a code, as a client would throw it. */
export function coded(code: string, fields: Record<string, unknown> = {}): Error {
  return Object.assign(new Error(code), { code, ...fields });
}

/** Counts the abort listeners that are left on a signal. */
export function countListeners(signal: AbortSignal): () => number {
  const listeners: unknown[] = [];
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = ((type: string, listener: EventListener, options?: AddEventListenerOptions) => {
    if (type === "abort") listeners.push(listener);
    add(type, listener, options);
  }) as typeof signal.addEventListener;
  signal.removeEventListener = ((type: string, listener: EventListener) => {
    const at = type === "abort" ? listeners.indexOf(listener) : -1;
    if (at >= 0) listeners.splice(at, 1);
    remove(type, listener);
  }) as typeof signal.removeEventListener;
  return () => listeners.length;
}
