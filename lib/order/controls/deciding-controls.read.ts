import type { AppliedControl, EventOut } from "@/lib/events/events.shapes";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { applyingControls, type Control, decidingControl, indexControls } from "@/lib/order/controls/control.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { isoOrNull } from "@/lib/platform/plain/iso-time.pure";

type ControlRow = Control & { reason: string; createdBy: string };

type Facts = Pick<EventOut, "id" | "source" | "status" | "eventId" | "aggregateType" | "aggregateId" | "errorCode">;

/**
 * The control that decides whether each event of a page may be sent now; null = none. Controls apply to PENDING events
 * only. Costs two index reads for a page, however many controls there are. Reasons are masked for everybody, like the texts of a list.
 */
export async function readDecidingControls(
  db: Queryable,
  events: readonly Facts[],
  nowMs: number,
): Promise<Map<string, AppliedControl>> {
  const pending = events.filter((event) => event.status === "PENDING");
  if (pending.length === 0) return new Map();
  const [imposed, automatic] = await Promise.all([readImposed(db, pending), readAutomatic(db, pending)]);
  const index = indexControls(imposed);
  const set = (await readMasks(db)).of(null);
  const found = new Map<string, AppliedControl>();
  for (const event of pending) {
    const own = automatic.get(aggregateKey(event)) ?? null;
    const applying = applyingControls(index, { ...event, aggregateBlacklisted: own !== null }, nowMs) as ControlRow[];
    const control = decidingControl(applying, own);
    if (control) found.set(event.id, { ...appliedOut(control), reason: maskText(control.reason, set) });
  }
  return found;
}

async function readImposed(db: Queryable, events: readonly Facts[]): Promise<ControlRow[]> {
  const named = new Map<string, [scope: string, value: string]>();
  const name = (scope: string, value: string | null) => {
    if (value !== null) named.set(`${scope} ${value}`, [scope, value]);
  };
  for (const event of events) {
    name("eventId", event.eventId);
    name("aggregateId", event.aggregateId);
    name("errorCode", event.errorCode);
    name("source", event.source);
  }
  const pairs = [...named.values()];
  return db.query<ControlRow>(
    `select c.id, c.kind, c.scope, c.value, c.source, c.aggregate_type as "aggregateType", c.origin, c.reason,
            c.created_by as "createdBy", (extract(epoch from c.expires_at) * 1000)::float8 as "expiresAtMs"
       from unnest($1::text[], $2::text[]) as w(scope, value)
       join controls c on c.scope = w.scope and c.value = w.value and c.lifted_at is null
      order by c.id`,
    [pairs.map(([scope]) => scope), pairs.map(([, value]) => value)],
    { name: "controls-over-page" },
  );
}

const aggregateKey = (event: Pick<EventOut, "source" | "aggregateType" | "aggregateId">) =>
  JSON.stringify([event.source, event.aggregateType ?? "", event.aggregateId]);

/** The blacklists that Parkade imposed on the aggregates of these events, in the form of controls. */
async function readAutomatic(db: Queryable, events: readonly Facts[]): Promise<Map<string, ControlRow>> {
  const ids = [...new Set(events.flatMap((event) => event.aggregateId ?? []))];
  if (ids.length === 0) return new Map();
  const rows = await db.query<{ id: string; source: string; aggregateType: string; value: string; reason: string }>(
    `select a.blacklist_id as id, s.name as source, a.aggregate_type as "aggregateType", a.aggregate_id as value,
            a.blacklist_reason as reason
       from aggregates a join sources s on s.id = a.source_id
      where a.aggregate_id = any($1::text[]) and a.blacklist_id is not null`,
    [ids],
    { name: "automatic-over-page" },
  );
  return new Map(
    rows.map((row) => [
      aggregateKey({ source: row.source, aggregateType: row.aggregateType, aggregateId: row.value }),
      {
        ...row,
        kind: "blacklist",
        scope: "aggregateId",
        aggregateType: row.aggregateType === "" ? null : row.aggregateType,
        origin: "automatic",
        createdBy: "worker",
        expiresAtMs: null,
      },
    ]),
  );
}

function appliedOut({ expiresAtMs, ...control }: ControlRow): AppliedControl {
  return { ...control, expiresAt: isoOrNull(expiresAtMs) };
}
