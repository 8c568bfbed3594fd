import { OperationError } from "@/lib/retry/errors";

/**
 * The value of `run`, or the value of `fallback` when `run` rejects. A cancellation is not replaced: its caller no longer
 * waits. Rejects with AggregateError when both reject, the fallback's error first.
 *
 * @param when which errors the fallback stands in for; default: all
 */
export async function withFallback<T, F = T>(
  run: () => Promise<T>,
  fallback: (error: unknown) => F | Promise<F>,
  when: (error: unknown) => boolean = () => true,
): Promise<T | F> {
  try {
    return await run();
  } catch (error) {
    const cancelled = error instanceof OperationError && error.outcome.kind === "cancelled";
    if (cancelled || !when(error)) throw error;
    try {
      return await fallback(error);
    } catch (second) {
      throw new AggregateError([second, error], "the call and its fallback failed");
    }
  }
}
