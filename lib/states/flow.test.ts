import { expect, test } from "vitest";
import { statusAfterFailure } from "@/lib/order/after-failure.pure";
import { EVENT_MOVES, EVENT_STATUSES, type EventMove, type EventStatus, isParked } from "@/lib/states/event-state.pure";
import { type FlowKind, flowBesideBounce, flowOf, SIZE_EFFECT } from "./flow.pure";

/** Every change that the product writes: the moves of the table, and failures wherever they find the event. */
const CHANGES: [EventMove, EventStatus, EventStatus][] = [
  ...(Object.keys(EVENT_MOVES) as EventMove[]).flatMap((move) =>
    EVENT_MOVES[move].from.map((from): [EventMove, EventStatus, EventStatus] => [move, from, EVENT_MOVES[move].to]),
  ),
  ...EVENT_STATUSES.flatMap((from) =>
    [1, 4].map((redrives): [EventMove, EventStatus, EventStatus] => [
      "bounce",
      from,
      statusAfterFailure(from, "bounce", { redrives, redriveLimit: 4 }),
    ]),
  ),
  ["fail", "QUEUED", "IGNORED"],
  ["deliverBounced", "QUEUED", "IGNORED"],
];

test.each(CHANGES)(
  "the kinds of %s from %s to %s add up to what they do to the parked events (I15)",
  (move, from, to) => {
    const effect = flowOf(move, from, to).reduce((sum, kind) => sum + SIZE_EFFECT[kind], 0);
    expect(effect).toBe(Number(isParked(to)) - Number(isParked(from)));
  },
);

test.each<[EventMove, EventStatus, EventStatus, FlowKind[]]>([
  ["bounce", "REDRIVEN", "PENDING", ["bounced"]],
  ["bounce", "REDRIVEN", "IGNORED", ["bounced", "ignored"]],
  ["bounce", "QUEUED", "QUEUED", ["bounced", "redriven"]],
  ["bounce", "PENDING", "PENDING", ["bounced", "redriven"]],
  ["bounce", "IGNORED", "IGNORED", ["bounced", "redriven"]],
  ["deliver", "QUEUED", "REDRIVEN", ["redriven"]],
  ["deliverBounced", "QUEUED", "PENDING", []],
  ["deliverBounced", "QUEUED", "IGNORED", ["ignored"]],
  ["fail", "QUEUED", "PENDING", ["failed"]],
  ["fail", "QUEUED", "IGNORED", ["failed", "ignored"]],
  ["skip", "QUEUED", "REDRIVEN", ["redriven", "confirmed"]],
  ["confirm", "PENDING", "REDRIVEN", ["confirmed", "redriven"]],
  ["confirm", "REDRIVEN", "REDRIVEN", ["confirmed"]],
])("%s from %s to %s counts as %j", (move, from, to, kinds) => {
  expect(flowOf(move, from, to)).toEqual(kinds);
});

test("an event that comes back after its confirmation takes it back", () => {
  expect(flowBesideBounce("REDRIVEN", "PENDING", false)).toEqual([]);
  expect(flowBesideBounce("REDRIVEN", "IGNORED", true)).toEqual(["ignored", "unconfirmed"]);
});
