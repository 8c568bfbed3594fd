/** At most `limit` in a window of `windowMs`. */
export type WindowPolicy = { limit: number; windowMs: number };

/** Counts of the current window of the grid and of the one before it. */
export type WindowState = { windowStartMs: number; current: number; previous: number };

export const EMPTY_WINDOW: WindowState = { windowStartMs: 0, current: 0, previous: 0 };

type WindowTaken = { state: WindowState; granted: boolean; waitMs: number };

/** The state with its window moved to the one `nowMs` falls into. A clock that goes backwards stays in its window. */
export function windowAt({ windowMs }: WindowPolicy, state: WindowState, nowMs: number): WindowState {
  const windowStartMs = Math.floor(nowMs / windowMs) * windowMs;
  if (windowStartMs <= state.windowStartMs) return state;
  const adjacent = windowStartMs - state.windowStartMs === windowMs;
  return { windowStartMs, current: 0, previous: adjacent ? state.current : 0 };
}

/**
 * How much of the previous window still weighs at `nowMs`, in whole units, rounded down. Multiplied before dividing:
 * (1 - 0.9) * 10 is 0.9999999999999998 and would round one unit away. Source: Cloudflare's sliding window counter.
 */
export function carriedOver({ windowMs }: WindowPolicy, state: WindowState, nowMs: number): number {
  const offsetMs = Math.min(windowMs, Math.max(0, nowMs - state.windowStartMs));
  return Math.floor(((windowMs - offsetMs) * state.previous) / windowMs);
}

/**
 * Sliding window counter: the previous window weighs by the share of it that the sliding window still covers, which
 * assumes that its calls came evenly. `waitMs` is when that weight, or else the next window, could make room.
 */
export function takeSliding(policy: WindowPolicy, state: WindowState, cost: number, nowMs: number): WindowTaken {
  const now = windowAt(policy, state, nowMs);
  if (carriedOver(policy, now, nowMs) + now.current + cost <= policy.limit) {
    return { state: { ...now, current: now.current + cost }, granted: true, waitMs: 0 };
  }
  return { state: now, granted: false, waitMs: slidingWaitMs(policy, now, cost, nowMs) };
}

/**
 * Fixed window counter: `limit` in each window of the grid, the window before it forgotten. Around the border of two windows up
 * to twice the limit may pass within `windowMs`. `waitMs` is when the next window begins.
 */
export function takeFixed(policy: WindowPolicy, state: WindowState, cost: number, nowMs: number): WindowTaken {
  const now = windowAt(policy, state, nowMs);
  if (now.current + cost <= policy.limit) {
    return { state: { ...now, current: now.current + cost }, granted: true, waitMs: 0 };
  }
  const waitMs = cost > policy.limit ? Number.POSITIVE_INFINITY : now.windowStartMs + policy.windowMs - nowMs;
  return { state: now, granted: false, waitMs };
}

function slidingWaitMs(policy: WindowPolicy, now: WindowState, cost: number, nowMs: number): number {
  if (cost > policy.limit) return Number.POSITIVE_INFINITY;
  const endMs = now.windowStartMs + policy.windowMs;
  const room = policy.limit - now.current - cost;
  // Within this window: until floor(weight) <= room, that is until weight < room + 1.
  if (room >= 0) return firstMsBelow(policy, endMs, now.previous, room + 1) - nowMs;
  // In the next one what is current now is the previous.
  return firstMsBelow(policy, endMs + policy.windowMs, now.current, policy.limit - cost + 1) - nowMs;
}

/** The first whole millisecond at which (endMs - t) / windowMs * weight is below `bound`. */
function firstMsBelow({ windowMs }: WindowPolicy, endMs: number, weight: number, bound: number): number {
  return Math.floor(endMs - (bound * windowMs) / weight) + 1;
}
