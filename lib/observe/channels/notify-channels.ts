import { groupPath } from "@/lib/events/groups/group-path.pure";
import { insertOutbox, type OutboxEvent } from "@/lib/kit/outbox/insert";
import { aboutPath, runbookAt } from "@/lib/observe/alerts/alert-paths.pure";
import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import { type LiveAlertRow, readLiveAlerts } from "@/lib/observe/alerts/alerts.read";
import { evidenceOut } from "@/lib/observe/alerts/alerts.shapes";
import { alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { readRulesInForce } from "@/lib/observe/alerts/rules/alert-rules.read";
import { type AlertMessage, LISTED_MAX, type MessageAlert } from "@/lib/observe/channels/alert-message.pure";
import { type ChannelInForce, readChannelsInForce, readNotices } from "@/lib/observe/channels/channels.read";
import { storeNotices } from "@/lib/observe/channels/channels.write";
import { digested, type FiringAlert, type Telling, tellingsOf } from "@/lib/observe/channels/notices.pure";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { plural } from "@/lib/platform/plain/format.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";

export const ALERT_OUTBOX = "alert_outbox";

/** Whether nobody is notified about such an alert now: in a maintenance window of its source, or while its group is muted. */
export type Quiet = (alert: Pick<LiveAlertRow, "source" | "subject">) => boolean;

type Moment = {
  nowMs: number;
  quiet: Quiet;
  publicUrl: string;
};
type Firing = FiringAlert & { row: LiveAlertRow };

/** Writes an evaluation's messages to the outbox in its transaction, so that none is lost or sent twice. Returns their number. */
export async function notifyChannels(tx: Tx, moment: Moment): Promise<number> {
  const channels = await readChannelsInForce(tx);
  if (channels.length === 0) return 0;
  const rules = new Map((await readRulesInForce(tx)).map((rule) => [rule.id, rule]));
  const firing = (await readLiveAlerts(tx))
    .filter(({ state }) => state === "firing")
    .map((row): Firing => ({ ...row, row, quiet: moment.quiet(row) }));
  const notices = Map.groupBy(await readNotices(tx), ({ channelId }) => channelId);
  const names = await namesOf(
    tx,
    [...notices.values()].flat().map(({ ruleId }) => ruleId),
  );
  let count = 0;
  for (const channel of channels) {
    const repeatMsOf = (id: string) => rules.get(id)?.watch.repeatMs ?? null;
    const tellings = tellingsOf(channel, firing, notices.get(channel.id) ?? [], { nowMs: moment.nowMs, repeatMsOf });
    if (tellings.length === 0) continue;
    const messages = tellings.map((telling) => {
      const runbookUrl = rules.get(telling.ruleId)?.watch.runbookUrl ?? null;
      return messageOf(telling, names.get(telling.ruleId) ?? null, { ...moment, runbookUrl });
    });
    count += await insertMessages(tx, channel, messages, moment);
    await storeNotices(tx, channel.id, {
      open: tellings.flatMap(({ notice }) => notice ?? []),
      closed: tellings.flatMap(({ notice, ruleId }) => (notice === null ? ruleId : [])),
    });
  }
  return count;
}

/** The last alert of each rule that some channel knows: its rule may be deleted. */
async function namesOf(tx: Tx, ruleIds: readonly string[]): Promise<Map<string, Ended>> {
  const rows = await tx.query<Ended & { ruleId: string }>(
    `select distinct on (rule_id) rule_id as "ruleId", rule_name as name, kind, severity, sentence, since as "sinceMs" from alerts
      where rule_id = any($1::uuid[]) order by rule_id, id desc`,
    [ruleIds],
    { name: "last-alerts-of-rules" },
  );
  return new Map(rows.map(({ ruleId, ...ended }) => [ruleId, ended]));
}
type Ended = Pick<LiveAlertRow, "kind" | "severity" | "sentence" | "sinceMs"> & { name: string };

type MessageContext = Moment & { runbookUrl: string | null };

function messageOf(
  { ruleId, event, alerts, openedAtMs }: Telling<Firing>,
  ended: Ended | null,
  { nowMs, publicUrl, runbookUrl }: MessageContext,
): AlertMessage {
  const [first] = alerts;
  const { kind, severity, sentence } = first?.row ?? ended ?? UNKNOWN;
  const rule = first?.ruleName ?? ended?.name ?? UNKNOWN.name;
  const sinceMs =
    alerts.length === 0 ? (ended?.sinceMs ?? openedAtMs) : Math.min(...alerts.map(({ row }) => row.sinceMs));
  return {
    event,
    recordKey: `parkade/${ruleId}/${openedAtMs}`,
    rule,
    kind,
    severity,
    sentence: alerts.length > 1 ? `${rule}: ${plural(alerts.length, "alert")}, ${sentence}` : sentence,
    since: iso(sinceMs),
    at: iso(nowMs),
    firing: alerts.length,
    alerts: alerts.slice(0, LISTED_MAX).map(({ row }) => messageAlert(row, publicUrl)),
    url: `${publicUrl}${alerts.length === 1 ? aboutPath(first!.row) : `/alerts?rule=${ruleId}`}`,
    runbookUrl: runbookUrl ?? (kind === null ? null : runbookAt(publicUrl)(alertKindOf(kind).runbook)),
  };
}

/** Of a rule whose alerts are not kept any more. */
const UNKNOWN = { name: "a deleted rule", kind: null, severity: "info", sentence: "Its alerts have ended" } as const;

function messageAlert(row: LiveAlertRow, publicUrl: string): MessageAlert {
  const evidence = evidenceOut(row.evidence);
  return {
    id: row.id,
    sentence: row.sentence,
    source: row.source,
    since: iso(row.sinceMs),
    value: row.value,
    usual: row.usual,
    acknowledgedBy: row.acknowledgedBy,
    url: `${publicUrl}${aboutPath(row)}`,
    samples: evidence.samples.map(({ id, eventId, errorCode, errorText, links }) => ({
      eventId: quoted(eventId),
      errorCode: quoted(errorCode),
      text: errorText ?? "",
      url: `${publicUrl}/events/${id}`,
      links: links.map(({ label, url }) => ({ label, url })),
    })),
    groups: evidence.groups.map(({ fingerprint, errorCode, pattern, count }) => ({
      sentence: `${quoted(errorCode)} ${pattern}`,
      count,
      url: `${publicUrl}${groupPath(fingerprint, row.source)}`,
    })),
  };
}

async function insertMessages(
  tx: Tx,
  channel: ChannelInForce,
  messages: readonly AlertMessage[],
  { nowMs, publicUrl }: Moment,
): Promise<number> {
  const { whole, rest } = digested(channel, messages);
  const sent = rest.length === 0 ? whole : [...whole, digestOf(rest, { nowMs, publicUrl })];
  await insertOutbox(
    tx,
    sent.map((message) => outboxEvent(channel.id, message, nowMs)),
    { table: ALERT_OUTBOX },
  );
  return sent.length;
}

/** Messages of one record keep their order; those of others do not wait for it. */
export function outboxEvent(channelId: string, message: AlertMessage, nowMs: number): OutboxEvent {
  return {
    id: uuidv7(nowMs),
    aggregateType: channelId,
    aggregateId: message.recordKey,
    eventType: message.event,
    destination: channelId,
    payload: message,
  };
}

function digestOf(
  rest: readonly AlertMessage[],
  { nowMs, publicUrl }: Pick<Moment, "nowMs" | "publicUrl">,
): AlertMessage {
  const ended = rest.filter(({ event }) => event === "resolved").length;
  const fired = rest.length - ended;
  const words = [
    ...(fired > 0 ? [`${plural(fired, "more rule fires", "more rules fire")}`] : []),
    ...(ended > 0 ? [`${plural(ended, "more rule has", "more rules have")} ended`] : []),
  ];
  return {
    event: "digest",
    recordKey: `parkade/digest/${nowMs}`,
    rule: "Several rules",
    kind: null,
    severity: rest[0]!.severity,
    sentence: words.join(", "),
    since: iso(nowMs),
    at: iso(nowMs),
    firing: rest.reduce((sum, { firing }) => sum + firing, 0),
    alerts: [],
    url: `${publicUrl}/alerts`,
    runbookUrl: null,
  };
}
