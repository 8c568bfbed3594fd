const MINUTE_MS = 60_000;

/**
 * Whether the arrival of a group that is the `place`th within its minute is stored, from 1. The first `limit` are, of the next
 * `limit` each second one, of the next twice `limit` each fourth one, and so on: the step doubles as the minute's arrivals do. Of
 * n arrivals `limit * (1 + log2(n / limit) / 2)` are stored, and a stored one stands for as many as the step is.
 *
 * The doubling of the rate is that of sticky sampling: Manku and Motwani, Approximate Frequency Counts over Data Streams,
 * VLDB 2002, section 4.1. Here the place decides in place of chance: nothing that is stored is replaced later.
 */
export function isStored(place: number, limit: number): boolean {
  let step = 1;
  while (place > limit * step) step *= 2;
  return step === 1 || place % step === 0;
}

/** When the minute ends that a time lies in, epoch milliseconds. */
export function endOfMinute(atMs: number): number {
  return (Math.floor(atMs / MINUTE_MS) + 1) * MINUTE_MS;
}

/** Why a source is not read until the minute is over. */
export function stormSentence(limit: number): string {
  return `More than ${limit} events of one group arrived within a minute: the queue keeps the rest, and reading continues in the next minute`;
}
