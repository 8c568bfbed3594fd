import type { ConfigLimits } from "@/lib/brokers/kinds/config-limits.shapes";
import { mayReference, referenceFault, referenceIn } from "@/lib/brokers/kinds/secret-references.pure";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, seesAll, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { insertOutbox } from "@/lib/kit/outbox/insert";
import type { AlertMessage } from "@/lib/observe/channels/alert-message.pure";
import { unknownChannel } from "@/lib/observe/channels/channels.read";
import {
  ADDRESSES,
  type ChannelChange,
  type ChannelConfig,
  type ChannelRequest,
  configFaults,
  redactChannelConfig,
  restoreMaskedAddress,
  textsOf,
} from "@/lib/observe/channels/channels.shapes";
import {
  deleteChannel,
  insertChannel,
  type LockedChannel,
  lockChannel,
  type StoredChannel,
  updateChannel,
} from "@/lib/observe/channels/channels.write";
import { ALERT_OUTBOX, outboxEvent } from "@/lib/observe/channels/tell-channels";
import type { Tx } from "@/lib/platform/database/db";
import { nameTaken } from "@/lib/platform/database/name-taken";
import { uuidv7 } from "@/lib/platform/ids";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError, type FieldError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { unknownSourceFaults } from "@/lib/sources/sources.read";

type ChannelDeps = Pick<Deps, "db" | "clock"> & {
  limits: ConfigLimits;
};

/** Adds a channel. Throws DomainError `forbidden`, `invalid-config`, `name-taken`. */
export async function addChannel(deps: ChannelDeps, request: ChannelRequest, viewer: Viewer): Promise<void> {
  const { name, reason, ...wanted } = request;
  assertMay(viewer, "change-alert", wanted.sources ?? "all");
  await assertUsable(deps, wanted, viewer);
  const channel = { ...wanted, config: restoreMaskedAddress(wanted.config, null, deps.limits) };
  const atMs = deps.clock.wallMs();
  const edit = { id: uuidv7(atMs), actor: viewer.name, atMs };
  await deps.db.transaction(async (tx) => {
    if (!(await insertChannel(tx, { name, ...channel }, edit))) throw nameTaken("channel", name);
    await audit(tx, name, edit, { action: "channel.created", reason, before: null, after: channel });
  });
}

/**
 * Changes a channel; messages that wait go by the new settings. Throws DomainError `unknown-channel`, `forbidden`, `invalid-config`,
 * `stale-settings`.
 */
export async function changeChannel(
  deps: ChannelDeps,
  { name, change }: { name: string; change: ChannelChange },
  viewer: Viewer,
): Promise<void> {
  const { reason, changedAt, ...wanted } = change;
  const atMs = deps.clock.wallMs();
  await assertUsable(deps, wanted, viewer);
  await deps.db.transaction(async (tx) => {
    const { id, updatedAtMs, stored: before } = await changeable(tx, name, viewer);
    if (changedAt !== undefined && Date.parse(changedAt) !== updatedAtMs)
      throw new DomainError("stale-settings", "The channel was changed since it was read: read it again");
    const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
    const after: StoredChannel = { ...before, ...given };
    after.config = restoreMaskedAddress(after.config, before.config, deps.limits);
    assertMay(viewer, "change-alert", after.sources ?? "all");
    if (after.config.kind !== before.config.kind) {
      const detail = `is ${before.config.kind} and stays so: add another channel for ${after.config.kind}`;
      throw invalidFields([{ field: "config.kind", detail }], "invalid-config");
    }
    const edit = { id, actor: viewer.name, atMs };
    await updateChannel(tx, after, edit);
    await audit(tx, name, edit, { action: "channel.changed", reason, before, after });
  });
}

/** Deletes a channel; what waits for it is not sent. Throws DomainError `unknown-channel`, `forbidden`. */
export async function removeChannel(
  { db, clock }: Pick<ChannelDeps, "db" | "clock">,
  { name, reason }: { name: string; reason: string },
  viewer: Viewer,
): Promise<void> {
  await db.transaction(async (tx) => {
    const { id, stored: before } = await changeable(tx, name, viewer);
    await deleteChannel(tx, id);
    const edit = { id, actor: viewer.name, atMs: clock.wallMs() };
    await audit(tx, name, edit, { action: "channel.deleted", reason, before, after: null });
  });
}

/**
 * Sends a message that says that it is a test, the way of every other message: through the outbox and a worker. Returns its
 * id in the delivery log. Throws DomainError `unknown-channel`, `forbidden`.
 */
export async function testChannel(
  { db, clock }: Pick<ChannelDeps, "db" | "clock">,
  { name, publicUrl }: { name: string; publicUrl: string },
  viewer: Viewer,
): Promise<string> {
  const atMs = clock.wallMs();
  return db.transaction(async (tx) => {
    const { id } = await changeable(tx, name, viewer);
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

async function changeable(tx: Tx, name: string, viewer: Viewer): Promise<LockedChannel> {
  const channel = await lockChannel(tx, name);
  if (channel === null || !seesAll(viewer, channel.stored.sources)) throw unknownChannel(name);
  assertMay(viewer, "change-alert", channel.stored.sources ?? "all");
  return channel;
}

/** Names of variables, addresses and sources that a channel may not have, each by its field. */
async function assertUsable(
  { db, limits }: ChannelDeps,
  { config, sources }: { config?: ChannelConfig | undefined; sources?: readonly string[] | null | undefined },
  viewer: Viewer,
): Promise<void> {
  const faults: FieldError[] = config ? configFaults(config) : [];
  for (const { field, value } of config ? textsOf(config) : []) {
    const name = referenceIn(value);
    if (name !== null && !mayReference(name, limits.envReferences)) {
      faults.push({ field: `config.${field}`, detail: referenceFault(name, "channel") });
    }
    if (name !== null || !ADDRESSES.includes(field) || !URL.canParse(value)) continue;
    try {
      limits.addresses.assertAllowed(new URL(value).hostname);
    } catch (error) {
      faults.push({ field: `config.${field}`, detail: (error as Error).message });
    }
  }
  if (config?.kind === "email" && (config.username === undefined) !== (config.password === undefined)) {
    faults.push({ field: "config.password", detail: "username and password belong together: give both or none" });
  }
  if (sources) {
    faults.push(...(await unknownSourceFaults(db, viewer, { names: sources, field: "sources" })));
  }
  if (faults.length > 0) {
    const said = faults.map(({ field, detail }) => `${field}: ${detail}`).join("; ");
    throw new DomainError("invalid-config", said, { fields: faults });
  }
}

type Edit = { id: string; actor: string; atMs: number };
type Audited = { config: ChannelConfig } | null;
type Change = { action: string; reason: string | undefined; before: Audited; after: Audited };

/** A configuration holds names of secrets, and none of them; a token in an address is masked. */
async function audit(tx: Tx, name: string, { actor, atMs }: Edit, { reason, ...change }: Change): Promise<void> {
  const entry = { actor, atMs, subjectKind: "channel", subjectId: name, count: 1, reason: reason ?? null } as const;
  const shown = (channel: Audited) => channel && { ...channel, config: redactChannelConfig(channel.config) };
  await appendAudit(tx, { ...entry, ...change, before: shown(change.before), after: shown(change.after) });
}
