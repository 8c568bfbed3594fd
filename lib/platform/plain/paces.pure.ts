/** Intervals of a worker, milliseconds. An interval runs from the end of one round to the start of the next. */
export type Paces = {
  heartbeatMs: number;
  /** A worker without a heartbeat for this long is lost, and its slices are given to others. */
  lostMs: number;
  /** After a longer pause between its own heartbeats a worker cannot tell lost workers from a store that was away. */
  heartbeatGapMs: number;
  lostWorkMs: number;
  /** The job of a failed slice is added again within this time; after a silent connection, within twice the time. */
  reconcileMs: number;
  /** A changed rate, policy, breaker order or source configuration is in force this soon. */
  targetsMs: number;
  /** A slice checks again this soon whether an unreachable target accepts sends. */
  unreachableMs: number;
  /** Items of a target that was reachable wait this long for it before they are sent to a fallback. */
  unreachableHoldMs: number;
  /** A slice whose target's breaker is open checks again at least this often, because an operator may close it. */
  breakerMs: number;
  canaryMs: number;
  /** The job of a canary checks again this soon whether its step has been released. */
  canaryLookMs: number;
  startMs: number;
  confirmMs: number;
  rulesMs: number;
  forgetMs: number;
  foldMs: number;
  /** Events of merged groups, and of groups that earlier rules made, move this often, in bounded steps. */
  groupsMs: number;
  /** A new, changed or stopped source is noticed within this time. */
  consumersMs: number;
  /** A silent broker delays the end of its own consumer, and of the worker, by at most this long. */
  consumersStopMs: number;
  outboxMs: number;
  messagesMs: number;
  /** A message without an answer for this long is released and sent again later. */
  publishMs: number;
  resultsMs: number;
  alertsMs: number;
};

export const PACES: Paces = {
  heartbeatMs: 2_000,
  // Two missed heartbeats; a shorter time doubles the sends of a worker that was only slow.
  lostMs: 6_000,
  heartbeatGapMs: 5_000,
  lostWorkMs: 1_000,
  reconcileMs: 2_500,
  targetsMs: 1_000,
  unreachableMs: 2_000,
  unreachableHoldMs: 15_000,
  breakerMs: 5_000,
  canaryMs: 1_000,
  canaryLookMs: 2_000,
  startMs: 1_000,
  confirmMs: 5_000,
  rulesMs: 5_000,
  forgetMs: 2_000,
  foldMs: 15_000,
  groupsMs: 5_000,
  consumersMs: 2_000,
  consumersStopMs: 15_000,
  outboxMs: 2_000,
  messagesMs: 1_000,
  publishMs: 10_000,
  resultsMs: 2_500,
  alertsMs: 10_000,
};
