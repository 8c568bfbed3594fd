import type { AlertKind } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { type ChannelKind, channelKindOf } from "@/lib/observe/channels/kinds/channel-kinds.pure";
import type { Severity } from "@/lib/states/severity.pure";

/**
 * The messages of a channel. All alerts of a rule that a channel takes are one record there: it opens with the first, new ones
 * join it, it is repeated while nobody has acknowledged all of them, and it closes when none fires any more.
 * While a maintenance window covers an alert, or its group is muted, nobody is notified that it fires; its end is always sent.
 */
export type Channel = {
  id: string;
  kind: ChannelKind;
  severities: readonly Severity[];
  /** null = of every source. */
  sources: readonly string[] | null;
};

/** Times are epoch milliseconds. */
export type FiringAlert = {
  id: string;
  ruleId: string;
  ruleName: string;
  kind: AlertKind;
  severity: Severity;
  source: string | null;
  acknowledged: boolean;
  /** The evaluation in which it fired and could be sent; null = not yet. */
  toldFrom: number | null;
  /** Nobody is notified now: a maintenance window covers it, or its group is muted. */
  quiet: boolean;
};

/** What the channel knows of a rule. */
export type Notice = {
  ruleId: string;
  openedAtMs: number;
  /** The last evaluation whose alerts were sent to the channel: a number, because a clock may be set back. */
  toldTo: number;
  toldAtMs: number;
  acknowledged: boolean;
};

type NoticeEvent = "fired" | "repeated" | "acknowledged" | "resolved";

/** A message to make, and what the channel knows afterwards; `notice` null = the record is closed. */
export type Telling<Alert extends FiringAlert> = {
  ruleId: string;
  event: NoticeEvent;
  /** The alerts that fire, new ones first. Empty for one that is resolved. */
  alerts: Alert[];
  openedAtMs: number;
  notice: Notice | null;
};

function takes(channel: Channel, { severity, source }: Pick<FiringAlert, "severity" | "source">): boolean {
  if (!channel.severities.includes(severity)) return false;
  return channel.sources === null || (source !== null && channel.sources.includes(source));
}

type Moment = {
  nowMs: number;
  /** By rule; null = it does not repeat. */
  repeatMsOf: (ruleId: string) => number | null;
};

/** The messages that this channel must get now. */
export function tellingsOf<Alert extends FiringAlert>(
  channel: Channel,
  firing: readonly Alert[],
  notices: readonly Notice[],
  moment: Moment,
): Telling<Alert>[] {
  const taken = Map.groupBy(
    firing.filter((alert) => takes(channel, alert)),
    ({ ruleId }) => ruleId,
  );
  const known = new Map(notices.map((notice) => [notice.ruleId, notice]));
  const rules = new Set([...taken.keys(), ...known.keys()]);
  return [...rules].flatMap((ruleId) => {
    const telling = tellingOf(channel, taken.get(ruleId) ?? [], known.get(ruleId) ?? null, moment);
    return telling === null ? [] : [{ ruleId, ...telling }];
  });
}

function tellingOf<Alert extends FiringAlert>(
  { kind }: Channel,
  firing: readonly Alert[],
  notice: Notice | null,
  { nowMs, repeatMsOf }: Moment,
): Omit<Telling<Alert>, "ruleId"> | null {
  if (firing.length === 0) {
    return notice && { event: "resolved", alerts: [], openedAtMs: notice.openedAtMs, notice: null };
  }
  const tellable = firing.filter(({ toldFrom, quiet }) => toldFrom !== null && !quiet);
  const ruleId = firing[0]!.ruleId;
  const isNew = ({ toldFrom }: Alert) => toldFrom! > (notice?.toldTo ?? Number.NEGATIVE_INFINITY);
  const fresh = tellable.filter(isNew);
  const ordered = [...fresh, ...tellable.filter((alert) => !isNew(alert))];
  const acknowledged = tellable.length > 0 && tellable.every((alert) => alert.acknowledged);
  const openedAtMs = notice?.openedAtMs ?? nowMs;
  const told = (event: NoticeEvent, toldAtMs: number) => {
    const toldTo = Math.max(notice?.toldTo ?? 0, ...tellable.map(({ toldFrom }) => toldFrom!));
    return { event, alerts: ordered, openedAtMs, notice: { ruleId, openedAtMs, toldTo, toldAtMs, acknowledged } };
  };
  if (fresh.some((alert) => !alert.acknowledged)) return told("fired", nowMs);
  if (notice === null) return null;
  const { knowsAcknowledged, repeatMs: ownRepeatMs } = channelKindOf(kind);
  if (acknowledged && !notice.acknowledged && knowsAcknowledged) return told("acknowledged", notice.toldAtMs);
  const repeatMs = ownRepeatMs ?? repeatMsOf(ruleId);
  const sinceMs = nowMs - notice.toldAtMs;
  // Sent in the future: the clock was set back since.
  const isOver = repeatMs !== null && (sinceMs >= repeatMs || sinceMs < 0);
  const due = isOver && (ownRepeatMs !== undefined || !acknowledged);
  return due && tellable.length > 0 ? told("repeated", nowMs) : null;
}

/** Messages about rules to one channel in one evaluation: a chat with five hundred messages is read by nobody. */
const MESSAGES_MAX = 20;

const RANK: Record<Severity, number> = { critical: 0, warning: 1, info: 2 };

/** Splits alerts into those with a message of their own, the worst first, and the rest, which one message counts. */
export function digested<Item extends { severity: Severity }>(
  { kind }: Pick<Channel, "kind">,
  messages: readonly Item[],
): { whole: Item[]; rest: Item[] } {
  if (channelKindOf(kind).keepsRecords || messages.length <= MESSAGES_MAX) return { whole: [...messages], rest: [] };
  const sorted = messages.toSorted((left, right) => RANK[left.severity] - RANK[right.severity]);
  return { whole: sorted.slice(0, MESSAGES_MAX - 1), rest: sorted.slice(MESSAGES_MAX - 1) };
}
