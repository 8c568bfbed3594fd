import type { Clock } from "./clock";

/**
 * Long work on the one thread holds up every other request. It lets them go on when it has held the thread this long: a
 * tenth of what a neighbour may notice, and long enough that asking costs nothing.
 */
const HOLD_MS = 10;

export type Turns = {
  /** The work has held the thread long enough: call `give` before it goes on. */
  due(): boolean;
  /** Resolves when everything that waited for the thread had its turn. */
  give(): Promise<void>;
};

export function createTurns({ nowMs }: Pick<Clock, "nowMs">, holdMs = HOLD_MS): Turns {
  let heldSinceMs = nowMs();
  return {
    due: () => nowMs() - heldSinceMs >= holdMs,
    give: () =>
      new Promise((resolve) => {
        setImmediate(() => {
          heldSinceMs = nowMs();
          resolve();
        });
      }),
  };
}
