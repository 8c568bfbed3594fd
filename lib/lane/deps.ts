import type { LaneQueue } from "@/lib/lane/port";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import type { Log } from "@/lib/platform/log";

/** The services of a process that redrives, and operations, may need. Built by app/_server/deps and workers/worker. */
export type Deps = { db: Db; lane: LaneQueue; clock: Clock; log: Log };
