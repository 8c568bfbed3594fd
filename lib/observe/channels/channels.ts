import { Noun, type NounDeps } from "@/lib/guard/noun";
import type { ConfigLimits } from "@/lib/guard/redaction/secret-references.pure";
import { mayReference, referenceFault, referenceIn } from "@/lib/guard/redaction/secret-references.pure";
import { unknownSourceFaults } from "@/lib/guard/viewer/source-names.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { insertOutbox } from "@/lib/kit/outbox/insert";
import type { AlertMessage } from "@/lib/observe/channels/alert-message.pure";
import {
  type ChannelChange,
  type ChannelConfig,
  type ChannelOut,
  type ChannelRequest,
  type ChannelRow,
  channelRowSchema,
  configFaults,
  type DeliveryList,
  type DeliveryOut,
  isAddress,
  plainChannelSecretPlaces,
  redactChannelConfig,
  restoreMaskedAddress,
  textsOf,
} from "@/lib/observe/channels/channels.shapes";
import { channelKindOf } from "@/lib/observe/channels/kinds/channel-kinds.pure";
import { ALERT_OUTBOX, outboxEvent } from "@/lib/observe/channels/notify-channels";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { nameTaken } from "@/lib/platform/database/name-taken";
import { uuidv7 } from "@/lib/platform/ids";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError, type FieldError, invalidFields } from "@/lib/platform/plain/problem.pure";

type ChannelDeps = NounDeps & { limits: ConfigLimits };

export const CHANNELS = new Noun<ChannelRow, "waiting" | "failed" | "lastSentAt" | "lastError", ChannelOut>({
  table: "alert_channels",
  schema: channelRowSchema,
  computed: {
    waiting: `(select count(*) from alert_outbox o where o.destination = t.id::text and o.status = 'NEW')::int`,
    failed: `(select count(*) from alert_outbox o where o.destination = t.id::text and o.status = 'FAILED'
      and o.created_at > now() - interval '1 day')::int`,
    lastSentAt: "(select max(o.sent_at) from alert_outbox o where o.destination = t.id::text and o.status = 'SENT')",
    lastError: `(select o.last_error from alert_outbox o
      where o.destination = t.id::text and o.last_error is not null and o.status <> 'SENT'
        and o.seq > coalesce((select max(s.seq) from alert_outbox s where s.destination = t.id::text and s.status = 'SENT'), 0)
      order by o.seq desc limit 1)`,
  },
  // A channel of some sources is seen by whoever sees all of them.
  seen: "($1::text[] is null or t.sources <@ $1::text[])",
  order: "t.name",
  key: "name",
  subject: "channel",
  verbs: { create: "created", remove: "deleted" },
  needs: "change-alert",
  sourcesOf: ({ sources }) => sources,
  // A configuration holds names of secrets, and none of them; a token in an address is masked.
  audited: ({ enabled, severities, sources, config }) => ({
    ...{ enabled, severities, sources },
    config: redactChannelConfig(config),
  }),
  unknown: (name) => [
    "unknown-channel",
    `There is no channel ${JSON.stringify(name)}`,
    "list channels with GET /api/v1/channels",
  ],
  taken: ({ name }) => nameTaken("channel", name),
  out: (rows) =>
    rows.map(({ kind: _kind, ...row }) => ({
      ...row,
      config: redactChannelConfig(row.config),
      plainSecrets: plainChannelSecretPlaces(row.config),
      lastError: errorOut(row.lastError),
    })),
});

/** Throws DomainError `forbidden`, `invalid-config`, `name-taken`. */
export async function addChannel(
  deps: ChannelDeps,
  { reason, ...channel }: ChannelRequest,
  viewer: Viewer,
): Promise<ChannelOut> {
  const set = { ...channel, kind: channel.config.kind };
  return CHANNELS.create(deps, { set, reason }, viewer, async (tx) => {
    await assertUsable({ ...deps, db: tx }, channel, viewer);
    return { config: restoreMaskedAddress(channel.config, null, deps.limits) };
  });
}

/**
 * Changes a channel; messages that wait go by the new settings. Throws DomainError `unknown-channel`, `forbidden`, `invalid-config`,
 * `stale-settings`.
 */
export async function changeChannel(
  deps: ChannelDeps,
  { name, change: { reason, changedAt, ...set } }: { name: string; change: ChannelChange },
  viewer: Viewer,
): Promise<ChannelOut> {
  await assertUsable(deps, set, viewer);
  return CHANNELS.change(deps, { key: name, reason }, viewer, (_, stored) => {
    if (changedAt !== undefined && Date.parse(changedAt) !== Date.parse(stored.updatedAt))
      throw new DomainError("stale-settings", "The channel was changed since it was read: read it again");
    const config = restoreMaskedAddress(set.config ?? stored.config, stored.config, deps.limits);
    if (config.kind !== stored.kind) {
      const detail = `is ${stored.kind}, which cannot change: add another channel for ${config.kind}`;
      throw invalidFields([{ field: "config.kind", detail }], "invalid-config");
    }
    return { set: { ...set, config } };
  });
}

/** Deletes a channel; what waits for it is not sent. Throws DomainError `unknown-channel`, `forbidden`. */
export async function removeChannel(
  deps: NounDeps,
  { name, reason }: { name: string; reason: string },
  viewer: Viewer,
): Promise<void> {
  await CHANNELS.remove(deps, { key: name, reason }, viewer, (tx, { id }) =>
    tx.run("delete from alert_outbox where destination = $1", [id]),
  );
}

/**
 * Sends a message that says that it is a test, the way of every other message: through the outbox and a worker. Returns its
 * id in the delivery log. Throws DomainError `unknown-channel`, `forbidden`.
 */
export async function testChannel(
  { db, clock }: NounDeps,
  { name, publicUrl }: { name: string; publicUrl: string },
  viewer: Viewer,
): Promise<string> {
  const atMs = clock.wallMs();
  return db.transaction(async (tx) => {
    const { id } = await CHANNELS.lock(tx, viewer, name);
    const message: AlertMessage = {
      event: "test",
      recordKey: `parkade/test/${uuidv7(atMs)}`,
      rule: "Test",
      kind: null,
      severity: "info",
      sentence: `${viewer.name} tests the channel ${name}: nothing is wrong`,
      since: iso(atMs),
      at: iso(atMs),
      firing: 0,
      alerts: [],
      url: `${publicUrl}/alerts/channels`,
      runbookUrl: null,
    };
    const [sent] = await insertOutbox(tx, outboxEvent(id, message, atMs), { table: ALERT_OUTBOX });
    return sent!;
  });
}

/** Names of variables, addresses and sources that a channel may not have, each by its field. */
async function assertUsable(
  { db, limits }: { db: Queryable; limits: ConfigLimits },
  { config, sources }: { config?: ChannelConfig | undefined; sources?: readonly string[] | null | undefined },
  viewer: Viewer,
): Promise<void> {
  const faults: FieldError[] = config ? configFaults(config) : [];
  for (const { field, value } of config ? textsOf(config) : []) {
    const name = referenceIn(value);
    if (name !== null && !mayReference(name, limits.envReferences)) {
      faults.push({ field: `config.${field}`, detail: referenceFault(name, "channel") });
    }
    if (name !== null || !config || !isAddress(config, field) || !URL.canParse(value)) continue;
    try {
      limits.addresses.assertAllowed(new URL(value).hostname);
    } catch (error) {
      faults.push({ field: `config.${field}`, detail: (error as Error).message });
    }
  }
  const own = config && channelKindOf(config.kind).fault?.(config);
  if (own) faults.push({ ...own, field: `config.${own.field}` });
  if (sources) {
    faults.push(...(await unknownSourceFaults(db, viewer, { names: sources, field: "sources" })));
  }
  if (faults.length > 0) {
    const said = faults.map(({ field, detail }) => `${field}: ${detail}`).join("; ");
    throw new DomainError("invalid-config", said, { fields: faults });
  }
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
  const { id } = await CHANNELS.read(db, viewer, name);
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
