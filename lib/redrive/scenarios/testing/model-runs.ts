/** How many runs of a model, and their seed when it is not chosen at random. */
export type ModelRuns = { count: number; seed?: number };

/** Another seed each day, so that the few runs of the gate add up, and the same all day, so that a failure repeats. */
export const seedOfToday = (): number => Number(new Date().toISOString().slice(0, 10).replaceAll("-", ""));

/**
 * The number of runs, unless PARKADE_MODEL_RUNS names another. A failure prints its seed, path and replayPath:
 * PARKADE_MODEL_SEED, _PATH and _REPLAY run it again.
 */
export const runsOf = (count: number, seed?: number): ModelRuns => ({
  count: Number(process.env.PARKADE_MODEL_RUNS ?? count),
  seed: process.env.PARKADE_MODEL_SEED ? Number(process.env.PARKADE_MODEL_SEED) : seed,
});

/** The settings of fast-check for these runs. */
export function seedOf({ seed }: ModelRuns): { seed?: number; path?: string } {
  return seed === undefined ? {} : { seed, path: process.env.PARKADE_MODEL_PATH ?? "" };
}
