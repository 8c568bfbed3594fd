import { EVENT_MOVES, type EventMove, type EventStatus, isParked } from "@/lib/states/event-state.pure";

/**
 * How each kind of `dlq_flow` changes the number of parked events (`dlq_size`). The kinds of an event's history add up to
 * whether it is parked now: see I15 in docs/invariants.md. `corrected` has a sign: migrations wrote it, and an event that moves to another group counts it in both; `expired` by the
 * removal of events that were kept for their time; the last four by arrivals
 * that became no event: counted in a storm, known already, dropped as noise, or refused by the store.
 */
export const SIZE_EFFECT = {
  parked: 1,
  bounced: 1,
  released: 1,
  corrected: 1,
  redriven: -1,
  ignored: -1,
  expired: -1,
  confirmed: 0,
  unconfirmed: 0,
  failed: 0,
  unstored: 0,
  duplicate: 0,
  dropped: 0,
  rejected: 0,
} as const;
export type FlowKind = keyof typeof SIZE_EFFECT;

/** The kinds that a move always counts. */
const COUNTED: Record<EventMove, readonly FlowKind[]> = {
  freeze: [],
  deliver: ["redriven"],
  deliverBounced: [],
  skip: ["redriven", "confirmed"],
  pass: [],
  refuse: [],
  fail: ["failed"],
  cancel: [],
  giveBack: [],
  bounce: ["bounced"],
  ignore: ["ignored"],
  exhaust: [],
  release: ["released"],
  confirm: ["confirmed"],
};

/**
 * All kinds that a move counts: its own kind, and the kind that corrects for a missing one. An event that bounces
 * without having left the parked events leaves them now (`redriven`); an event that ends as IGNORED at the redrive
 * limit leaves them too (`ignored`).
 */
export function flowOf(move: EventMove, from: EventStatus, to: EventStatus = EVENT_MOVES[move].to): FlowKind[] {
  const counted = COUNTED[move];
  const effect = counted.reduce((sum, kind) => sum + SIZE_EFFECT[kind], 0);
  const missing = Number(isParked(to)) - Number(isParked(from)) - effect;
  if (missing === 0) return [...counted];
  if (missing !== -1) throw new RangeError(`no kind of flow makes up for ${move} from ${from} to ${to}`);
  return [...counted, to === "IGNORED" && from !== "IGNORED" ? "ignored" : "redriven"];
}

/** The kinds that an event counts when it comes back, beside `bounced`. A confirmation is taken back. */
export function flowBesideBounce(from: EventStatus, to: EventStatus, confirmed: boolean): FlowKind[] {
  const beside = flowOf("bounce", from, to).filter((kind) => kind !== "bounced");
  return confirmed ? [...beside, "unconfirmed"] : beside;
}

/** The flow is kept by the minute for this many whole UTC days, and today; by the hour and wider for good. */
export const NARROW_DAYS = 7;
