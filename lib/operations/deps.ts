import type { LaneQueue } from "@/lib/lane/port";
import type { Clock } from "@/lib/platform/clock";
import type { Log } from "@/lib/platform/log";
import type { Db } from "@/lib/store/db";

/** What every use case may need. Built once by the composition roots: app/_server/deps and workers/main. */
export type Deps = { db: Db; lane: LaneQueue; clock: Clock; log: Log };
