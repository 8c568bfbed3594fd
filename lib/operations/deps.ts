import type { Clock } from "@/lib/platform/clock";
import type { LowRateStore } from "@/lib/store/prisma";

export type { Deps } from "@/lib/redriving/deps";

/** The dependencies of a use case that only changes configuration. */
export type LowRateDeps = { lowRate: LowRateStore; clock: Clock };
