import type { Lag, ReadSession, Taken } from "@/lib/brokers/port";

/** Empty waits after which a draining source counts as drained although its broker still reports messages, or reports no count. */
const DRAIN_WAITS_MAX = 15;

/** One connection of a park loop, and the messages that it holds. */
export type Session<Handle> = {
  read: ReadSession<Handle>;
  /** Messages that were read while the batch before them was committed. Never rejects. */
  ahead: Promise<Taken<Handle>[]>;
  /** Messages that could not be committed while others could: kept unacknowledged, tried again at `retryAtMs`. */
  setAside: Taken<Handle>[];
  retryAtMs: number;
  emptyWaits: number;
};

/** Unknown when it cannot be read. A session that has lost its broker fails in `take` as well. */
export function lagOf(read: Pick<ReadSession<unknown>, "lag">): Promise<Lag> {
  return read.lag().catch((): Lag => ({ total: null, parts: [] }));
}

export function stillHeld<Handle>(read: ReadSession<Handle>, taken: Taken<Handle>[]): Taken<Handle>[] {
  return taken.filter((one) => read.holds?.(one.handle) ?? true);
}

/** Whether a source that gave no message in time is empty. A message set aside keeps it from being so. `onLag` gets the broker's count. */
export async function isEmpty(session: Session<unknown>, onLag: (lag: Lag) => void): Promise<boolean> {
  if (session.emptyWaits === 0 || session.setAside.length > 0) return false;
  const lag = await lagOf(session.read);
  onLag(lag);
  return lag.total === 0 || session.emptyWaits >= DRAIN_WAITS_MAX;
}

/** The commit failed; the broker gets the batch back. */
export class ParkRejected extends Error {
  override readonly name = "ParkRejected";
}

/** Codes are safe to show; the texts of a database are not. */
export function parkFailure(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code !== "" ? code : error instanceof Error ? error.name : "unknown error";
}

/** The store takes no values of this message, ever: no outage, whatever happens to the others. */
export function isRefusal(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "invalid-request";
}
