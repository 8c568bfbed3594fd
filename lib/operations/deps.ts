import { DomainError } from "@/lib/core/problem";
import type { LaneQueue } from "@/lib/lane/port";
import type { Clock } from "@/lib/platform/clock";
import type { Log } from "@/lib/platform/log";
import { type Db, isDeadlock, sqlState } from "@/lib/store/db";

/** What every use case may need. Built once by the composition roots: app/_server/deps and workers/main. */
export type Deps = { db: Db; lane: LaneQueue; clock: Clock; log: Log };

const SERIALIZATION = "40001";

/** An error that the same statement may not meet again: the store is away for a moment, or two transactions collided. */
export function isPassing(error: unknown): boolean {
  if (error instanceof DomainError) return error.code === "store-unavailable" || error.code === "read-timeout";
  return isDeadlock(error) || sqlState(error) === SERIALIZATION;
}
