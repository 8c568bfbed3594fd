import type { Clock } from "@/lib/retry/clock";
import type { Taken } from "@/lib/retry/rate/token-bucket";

/** A take from a bucket that lives elsewhere and may not answer. */
export type RemoteTake = (cost: number) => Promise<{ granted: true } | { granted: false; waitMs: number }>;

/**
 * What to do when the shared bucket cannot be reached. `closed` sends nothing: the rate is a promise. `local` goes on
 * with a bucket of this process, which should hold a share of the rate: with n workers each at rate / n the sum keeps
 * the promise.
 */
export type Unreachable =
  | { kind: "closed" }
  | { kind: "local"; take: (cost: number) => Taken; onUnreachable: (error: unknown) => void };

/**
 * Waits for `cost` tokens of a distributed bucket on behalf of one attempt. Rejects with `signal.reason` at once when
 * it aborts, and when the bucket cannot be reached and the choice is `closed`, with the bucket's own error.
 *
 * @param waitMsMax longest sleep between two looks: the rate may have been raised meanwhile
 */
export async function takeGuarded(
  remote: RemoteTake,
  unreachable: Unreachable,
  { cost, clock, signal, waitMsMax = 1_000 }: { cost: number; clock: Clock; signal: AbortSignal; waitMsMax?: number },
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const answer = await remoteOr(remote, unreachable, cost);
    if (answer.granted) return;
    await clock.sleep(Math.min(answer.waitMs, waitMsMax), signal);
  }
}

async function remoteOr(remote: RemoteTake, unreachable: Unreachable, cost: number) {
  if (unreachable.kind === "closed") return remote(cost);
  try {
    return await remote(cost);
  } catch (error) {
    unreachable.onUnreachable(error);
    return unreachable.take(cost);
  }
}
