import type { Clock } from "@/lib/platform/clock";
import type { LowRateStore } from "@/lib/platform/database/prisma";

/** The dependencies of a use case that only changes configuration. */
export type LowRateDeps = { lowRate: LowRateStore; clock: Clock };
