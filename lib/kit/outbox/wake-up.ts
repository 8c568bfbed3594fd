import type { Clock } from "@/lib/platform/clock";

type ListenClient = {
  query(text: string): Promise<unknown>;
  on(event: "notification" | "error" | "end", listener: () => void): unknown;
  release(destroy?: boolean): void;
};

/** A pool of pg, by shape. */
export type ListenPool = {
  query(text: string, values: unknown[]): Promise<unknown>;
  connect(): Promise<ListenClient>;
};

export type WakeUp = {
  /** Resolves on a notification, after `ms`, or when `signal` aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
};

const RECONNECT_MS = 1_000;

/** Listens on one connection of the pool, and connects again when it breaks: the poll covers the time between. */
export function createWakeUp(pool: unknown, channel: string, { clock }: { clock: Clock }): WakeUp {
  const waiting = new Set<() => void>();
  // A notification that comes while nobody waits shortens the next wait.
  let pending = false;
  const wake = () => {
    pending = waiting.size === 0;
    for (const resolve of waiting) resolve();
  };
  const stopping = new AbortController();
  const listening = canListen(pool) ? listenUntil(stopping.signal, pool, { channel, wake, clock }) : Promise.resolve();
  return {
    wait: async (ms, signal) => {
      if (pending || signal.aborted) {
        pending = false;
        return;
      }
      await new Promise<void>((resolve) => {
        const done = () => {
          waiting.delete(done);
          cancel();
          signal.removeEventListener("abort", done);
          resolve();
        };
        const cancel = clock.timer(ms, done);
        signal.addEventListener("abort", done, { once: true });
        waiting.add(done);
      });
    },
    stop: async () => {
      stopping.abort(new Error("the publisher stops"));
      await listening;
    },
  };
}

function canListen(pool: unknown): pool is ListenPool {
  return typeof (pool as Partial<ListenPool> | null)?.connect === "function";
}

type Listening = { channel: string; wake: () => void; clock: Clock };

async function listenUntil(signal: AbortSignal, pool: ListenPool, listening: Listening): Promise<void> {
  while (!signal.aborted) {
    try {
      await listen(signal, await pool.connect(), listening);
    } catch {
      // The publisher's own statements report a database that cannot be reached.
    }
    await listening.clock.sleep(RECONNECT_MS, signal).catch(() => undefined);
  }
}

/** Until the connection breaks or `signal` aborts. */
async function listen(signal: AbortSignal, client: ListenClient, { channel, wake }: Listening): Promise<void> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  client.on("notification", wake);
  client.on("error", end);
  client.on("end", end);
  signal.addEventListener("abort", () => end(), { once: true });
  try {
    await client.query(`listen "${channel}"`);
    wake();
    if (!signal.aborted) await ended;
  } finally {
    // Destroyed: a connection that listens must not go back to the pool.
    client.release(true);
  }
}
