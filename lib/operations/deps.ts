import type { Clock } from "@/lib/platform/clock";
import type { LowRateStore } from "@/lib/store/prisma";

export type { Deps } from "@/lib/redriving/deps";

/** What a use case needs that changes configuration alone. */
export type LowRateDeps = { lowRate: LowRateStore; clock: Clock };
