import { systemClock } from "@/lib/platform/clock";

/** The options over their defaults; one that is given as undefined counts as not given. */
export function withDefaults<Options extends object, Defaults extends object>(options: Options, defaults: Defaults) {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) } as Defaults & Options;
}

/** Time and chance of the service that installed the kit. A test passes its own. */
export const host = { clock: systemClock, random: Math.random };
