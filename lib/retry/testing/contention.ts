import { type Backoff, backoffMs } from "@/lib/retry/backoff/backoff";
import type { Random } from "@/lib/retry/clock";
import { normal } from "@/lib/retry/testing/seeded";

/** Clients that each want to change one row once, by reading its version and writing it back. */
export type Contention = {
  clients: number;
  backoff: Backoff;
  random: Random;
};

/** Milliseconds until the last client has succeeded, and writes tried in all. */
export type ContentionResult = { completionMs: number; calls: number };

type Client = { version: number; failures: number; delayMs: number | null };
/** The client's message reaches the server: a read, or the write of what it read. */
type Arrival = { atMs: number; client: Client; write: boolean };

/**
 * The model behind "Exponential Backoff and Jitter": every message takes |N(10, 2)| ms, a write succeeds when nobody
 * else has written since the read, a client whose write failed backs off and reads again.
 * Source: aws-samples/aws-arch-backoff-simulator, the model; played here by our own backoff.
 */
function simulateContention({ clients, backoff, random }: Contention): ContentionResult {
  const netMs = () => Math.abs(normal(random, 10, 2));
  const queue = new Queue();
  for (let index = 0; index < clients; index++) {
    queue.push({ atMs: netMs(), client: { version: -1, failures: 0, delayMs: null }, write: false });
  }
  let version = 0;
  let calls = 0;
  let completionMs = 0;
  for (let arrival = queue.pop(); arrival !== null; arrival = queue.pop()) {
    const { client, write, atMs } = arrival;
    const answeredMs = atMs + netMs();
    if (!write) {
      client.version = version;
      queue.push({ atMs: answeredMs + netMs(), client, write: true });
      continue;
    }
    calls++;
    if (client.version === version) {
      version++;
      completionMs = Math.max(completionMs, answeredMs);
      continue;
    }
    client.failures++;
    client.delayMs = backoffMs(backoff, client.failures, client.delayMs, random);
    queue.push({ atMs: answeredMs + netMs() + client.delayMs, client, write: false });
  }
  return { completionMs, calls };
}

/** Means over `runs` simulations. */
export function meanContention(contention: Contention, runs: number): ContentionResult {
  let completionMs = 0;
  let calls = 0;
  for (let run = 0; run < runs; run++) {
    const result = simulateContention(contention);
    completionMs += result.completionMs / runs;
    calls += result.calls / runs;
  }
  return { completionMs, calls };
}

/** A binary heap: the earliest arrival first. */
class Queue {
  #heap: Arrival[] = [];

  push(arrival: Arrival): void {
    const heap = this.#heap;
    let at = heap.push(arrival) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.atMs <= arrival.atMs) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = arrival;
  }

  pop(): Arrival | null {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return null;
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(arrival: Arrival): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.atMs < heap[child]!.atMs) child++;
      if (heap[child]!.atMs >= arrival.atMs) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = arrival;
  }
}
