import { systemClock } from "@/lib/platform/clock";

/** Time and chance of the service that installed the kit. A test passes its own. */
export const host = { clock: systemClock, random: Math.random };
