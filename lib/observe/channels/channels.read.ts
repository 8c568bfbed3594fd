import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { AlertMessage } from "@/lib/observe/channels/alert-message.pure";
import {
  type ChannelConfig,
  type ChannelList,
  type ChannelOut,
  type DeliveryList,
  type DeliveryOut,
  plainChannelSecretPlaces,
  redactChannelConfig,
} from "@/lib/observe/channels/channels.shapes";
import type { Channel, Notice } from "@/lib/observe/channels/notices.pure";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Who a channel names as its last editor until a person enables, edits or deletes it after a restore. */
export const RESTORE = "restore";

export type ChannelInForce = Channel & { name: string };

export async function readChannelsInForce(db: Queryable): Promise<ChannelInForce[]> {
  return db.query<ChannelInForce>(
    "select id, name, kind, severities, sources from alert_channels where enabled order by id",
    [],
    { name: "channels-in-force" },
  );
}

export async function readNotices(db: Queryable): Promise<(Notice & { channelId: string })[]> {
  return db.query(
    `select channel_id as "channelId", rule_id as "ruleId", opened_at as "openedAtMs", told_to_evaluation as "toldTo", told_at as "toldAtMs",
            acknowledged from alert_notices`,
    [],
    { name: "alert-notices" },
  );
}

/** The settings that messages are sent by, also of a channel that is off: what was told before is sent. null = it is gone. */
export async function readChannelConfig(
  db: Queryable,
  id: string,
): Promise<{ name: string; config: ChannelConfig } | null> {
  const [row] = await db.query<{ name: string; config: ChannelConfig }>(
    "select name, config from alert_channels where id = $1",
    [id],
    { name: "channel-config" },
  );
  return row ?? null;
}

/** A channel of some sources is seen by whoever sees all of them. */
const SEEN = "($1::text[] is null or c.sources <@ $1::text[])";

const COLUMNS = `c.id, c.name, c.enabled, c.severities, c.sources, c.config, c.created_by as "createdBy", c.created_at as "createdAt",
  c.updated_by as "updatedBy", c.updated_at as "updatedAt",
  (select count(*) from alert_outbox o where o.destination = c.id::text and o.status = 'NEW')::int as waiting,
  (select count(*) from alert_outbox o where o.destination = c.id::text and o.status = 'FAILED'
      and o.created_at > now() - interval '1 day')::int as failed,
  (select max(o.sent_at) from alert_outbox o where o.destination = c.id::text and o.status = 'SENT') as "lastSentAt",
  (select o.last_error from alert_outbox o where o.destination = c.id::text and o.last_error is not null and o.status <> 'SENT'
      and o.seq > coalesce((select max(s.seq) from alert_outbox s where s.destination = c.id::text and s.status = 'SENT'), 0)
    order by o.seq desc limit 1) as "lastError"`;

type ChannelRow = Omit<ChannelOut, "plainSecrets">;

function channelOut(row: ChannelRow): ChannelOut {
  const { config } = row;
  return {
    ...row,
    config: redactChannelConfig(config),
    plainSecrets: plainChannelSecretPlaces(config),
    lastError: errorOut(row.lastError),
  };
}

export async function listChannels(db: Queryable, viewer: Viewer): Promise<ChannelList> {
  const items = await db.query<ChannelRow>(
    `select ${COLUMNS} from alert_channels c where ${SEEN} order by c.name`,
    [sourceScope(viewer)],
    { isoTimes: true },
  );
  return { items: items.map(channelOut) };
}

/** Throws DomainError `unknown-channel`. */
export async function readChannel(db: Queryable, viewer: Viewer, name: string): Promise<ChannelOut> {
  const [row] = await db.query<ChannelRow>(
    `select ${COLUMNS} from alert_channels c where ${SEEN} and c.name = $2`,
    [sourceScope(viewer), name],
    { isoTimes: true },
  );
  if (!row) throw unknownChannel(name);
  return channelOut(row);
}

export function unknownChannel(name: string): DomainError {
  return new DomainError("unknown-channel", `There is no channel ${JSON.stringify(name)}`, {
    fields: [{ field: "name", detail: "list channels with GET /api/v1/channels" }],
  });
}

/** The stored error begins with its class, which says nothing to a person. */
function errorOut(error: string | null): string | null {
  return error === null ? null : error.replace(/^[A-Z][A-Za-z]+: /, "");
}

type DeliveryRow = Omit<DeliveryOut, "event" | "rule" | "severity" | "sentence" | "state"> & {
  status: keyof typeof DELIVERY_STATES;
  message: AlertMessage;
};

const DELIVERY_STATES = { NEW: "waiting", SENT: "sent", FAILED: "failed" } as const;

/** The messages to a channel, newest first: those that wait, those of the last 30 days. Throws DomainError `unknown-channel`. */
export async function listDeliveries(
  db: Queryable,
  viewer: Viewer,
  { name, limit, cursor }: IdPage & { name: string },
): Promise<DeliveryList> {
  const { id } = await readChannel(db, viewer, name);
  const rows = await db.query<DeliveryRow>(
    `select o.id, o.status, o.created_at as at,
            o.sent_at as "sentAt", case when o.status = 'NEW' then o.available_at end as "nextAt", o.attempts as refusals,
            case when o.status <> 'SENT' then o.last_error end as "lastError", convert_from(o.payload, 'UTF8')::jsonb as message
       from alert_outbox o
      where o.destination = $1 and ($2::text is null or o.seq < (select seq from alert_outbox where id = $2))
      order by o.seq desc limit $3`,
    [id, cursor, limit + 1],
    { isoTimes: true },
  );
  const page = cutPage(rows, limit, (row) => row.id);
  const items = page.items.map(({ message: { event, rule, severity, sentence }, status, ...row }) => ({
    ...row,
    state: DELIVERY_STATES[status],
    lastError: errorOut(row.lastError),
    ...{ event, rule, severity, sentence },
  }));
  return { items, nextCursor: page.nextCursor };
}
