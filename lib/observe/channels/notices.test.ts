import { describe, expect, test } from "vitest";
import { type Channel, digested, type FiringAlert, type Notice, tellingsOf } from "./notices.pure";

const NOW = 1_000_000;
const CHAT: Channel = { id: "c", kind: "slack", severities: ["critical", "warning"], sources: null };
const PAGER: Channel = { ...CHAT, kind: "pagerduty" };

function alert(own: Partial<FiringAlert> = {}): FiringAlert {
  return {
    id: "a",
    ruleId: "r",
    ruleName: "Rises",
    kind: "inflow",
    severity: "warning",
    source: "orders",
    acknowledged: false,
    toldFrom: 7,
    quiet: false,
    ...own,
  };
}
const notice = (own: Partial<Notice> = {}): Notice => ({
  ruleId: "r",
  openedAtMs: NOW - 900_000,
  toldTo: 3,
  toldAtMs: NOW - 500_000,
  acknowledged: false,
  ...own,
});
const OLD = NOW - 900_000;
const told = (channel: Channel, firing: FiringAlert[], notices: Notice[], repeatMs: number | null = 400_000) =>
  tellingsOf(channel, firing, notices, { nowMs: NOW, repeatMsOf: () => repeatMs });

describe("a channel", () => {
  test.each<[string, Channel, FiringAlert[], Notice[], string | null]>([
    ["hears of the first alert", CHAT, [alert()], [], "fired"],
    ["hears nothing where nothing fires", CHAT, [], [], null],
    ["takes no other severity", { ...CHAT, severities: ["critical"] }, [alert()], [], null],
    ["takes no other source", { ...CHAT, sources: ["billing"] }, [alert()], [], null],
    [
      "of some sources hears of no alert over every source",
      { ...CHAT, sources: ["orders"] },
      [alert({ source: null })],
      [],
      null,
    ],
    [
      "hears of a new alert of a rule that it knows",
      CHAT,
      [alert({ toldFrom: 3 }), alert({ id: "b" })],
      [notice()],
      "fired",
    ],
    ["hears again after the time to repeat", CHAT, [alert({ toldFrom: 3 })], [notice()], "repeated"],
    [
      "hears of a new alert though its last message is of a clock that was set back since",
      CHAT,
      [alert({ toldFrom: 3 }), alert({ id: "b" })],
      [notice({ toldAtMs: NOW + 3_600_000 })],
      "fired",
    ],
    [
      "hears again of what it heard by a clock that was set back since",
      CHAT,
      [alert({ toldFrom: 3 })],
      [notice({ toldAtMs: NOW + 3_600_000 })],
      "repeated",
    ],
    ["and not before", CHAT, [alert({ toldFrom: 3 })], [notice({ toldAtMs: NOW - 399_999 })], null],
    [
      "hears nothing again of what was acknowledged",
      CHAT,
      [alert({ toldFrom: 3, acknowledged: true })],
      [notice()],
      null,
    ],
    ["hears nothing of an alert acknowledged before it was told", CHAT, [alert({ acknowledged: true })], [], null],
    ["hears that all have ended", CHAT, [], [notice()], "resolved"],
    ["hears nothing in a maintenance window", CHAT, [alert({ quiet: true })], [], null],
    ["hears nothing before the end of a maintenance window", CHAT, [alert({ toldFrom: null })], [], null],
    [
      "that pages hears of the acknowledgement",
      PAGER,
      [alert({ toldFrom: 3, acknowledged: true })],
      [notice()],
      "acknowledged",
    ],
    [
      "that pages hears of it once",
      PAGER,
      [alert({ toldFrom: 3, acknowledged: true })],
      [notice({ acknowledged: true })],
      null,
    ],
    [
      "of Alertmanager is told again every five minutes, whatever was acknowledged",
      { ...CHAT, kind: "alertmanager" },
      [alert({ toldFrom: 3, acknowledged: true })],
      [notice({ toldAtMs: NOW - 300_000 })],
      "repeated",
    ],
  ])("%s", (_, channel, firing, notices, event) => {
    expect(told(channel, firing, notices).map((telling) => telling.event)).toEqual(event === null ? [] : [event]);
  });

  test("is told once for an evaluation, with the new alerts first, and keeps the key of the record", () => {
    const [telling] = told(CHAT, [alert({ id: "old", toldFrom: 3 }), alert({ id: "new" })], [notice()]);
    expect(telling!.alerts.map(({ id }) => id)).toEqual(["new", "old"]);
    expect(telling).toMatchObject({ openedAtMs: OLD, notice: { openedAtMs: OLD, toldTo: 7, toldAtMs: NOW } });
    expect(told(CHAT, [alert({ id: "new" })], [telling!.notice!])).toEqual([]);
  });

  test("never repeats where the rule does not", () => {
    expect(told(CHAT, [alert({ toldFrom: 3 })], [notice({ toldAtMs: 0 })], null)).toEqual([]);
  });
});

test("more messages than a person reads become one, the worst stay whole; records are kept apart", () => {
  const messages = Array.from(
    { length: 500 },
    (_, index) => ({ index, severity: index === 499 ? "critical" : "info" }) as const,
  );
  const { whole, rest } = digested(CHAT, messages);
  expect(whole).toHaveLength(19);
  expect(rest).toHaveLength(481);
  expect(whole[0]!.index).toBe(499);
  expect(digested(PAGER, messages).rest).toEqual([]);
});
