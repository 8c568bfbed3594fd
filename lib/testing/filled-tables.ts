import type { Db } from "@/lib/platform/database/db";

type Column = { name: string; type: string };

/** Values that a check of the table takes, by `table.column`. */
const CHOSEN: Record<string, string> = {
  "account_links.account_id": "(select id from accounts limit 1)",
  "account_links.purpose": "'invitation'",
  "accounts.kind": "'person'",
  "accounts.role": "'operator'",
  "accounts.recovery_codes": "array['\\x0102'::bytea]",
  "admission_revision.id": "1",
  "api_tokens.account_id": "(select id from accounts limit 1)",
  "alert_evaluation.id": "1",
  "alert_maintenances.until_at": "'2027-03-29 01:59:59.123456+00'",
  "alert_notices.channel_id": "(select id from alert_channels limit 1)",
  "alert_outbox.status": "'SENT'",
  "alert_rules.severity": "'info'",
  "alerts.resolved_because": "'rule-off'",
  "alerts.state": "'resolved'",
  "archived_events.hashes": "array['\\x0102'::bytea]",
  "audit_pending.kind": "'redaction'",
  "audit_seals.kind": "'subjects'",
  "audit_verifications.extent": "'whole'",
  "bulk_operations.expected_kind": "'estimated'",
  "bulk_operations.kind": "'remove'",
  "bulk_operations.state": "'DONE'",
  "device_sign_ins.account_id": "(select id from accounts limit 1)",
  "device_sign_ins.decision": "'confirmed'",
  "controls.kind": "'cooldown'",
  "controls.origin": "'person'",
  "controls.scope": "'errorCode'",
  "event_bounces.id": "(select id from dlq_events limit 1)",
  "event_revisions.id": "(select id from dlq_events limit 1)",
  "group_aliases.reason": "'storm'",
  "group_mutes.ended_because": "'time'",
  "intake_room.measure": "'disk'",
  "forgets.finished_at": "null",
  "forgets.key_kind": "'tag'",
  "forgets.phase": "'audit'",
  "known_browsers.account_id": "(select id from accounts limit 1)",
  "markers.kind": "'note'",
  "mask_rules.kind": "'key'",
  "operation_tells.channel_id": "(select id from alert_channels limit 1)",
  "outbox.status": "'SENT'",
  "payload_schemas.origin": "'inferred'",
  "payload_schemas.source_id": "(select id from sources limit 1)",
  "readiness_probe.id": "1",
  "redrive_rule_revision.id": "1",
  "redrives.earlier": "'hold'",
  "redrives.lane": "'slow'",
  "redrives.mode": "'verify'",
  "redrives.state": "'DONE'",
  "sessions.account_id": "(select id from accounts limit 1)",
  "sessions.means": "'password'",
  "stops.scope": "'019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60'",
  "stops.target_id": "'019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60'",
};

/** SQL of a value of the type, as unlike its neighbours as the type allows. */
function sampleOf({ name, type }: Column): string {
  if (type.endsWith("[]")) return `array[${sampleOf({ name, type: type.slice(0, -2) })}]`;
  switch (type) {
    case "uuid":
      return "gen_random_uuid()";
    case "text":
      return `E'${name} \\\\N tab\\t line\\n "ünïcødé" 🅿'`;
    case "json":
    case "jsonb":
      return `'{"n": 12345678901234567890.10, "of": "${name}\\\\n"}'`;
    case "bytea":
      return "'\\x00ff0a5c'";
    case "timestamp with time zone":
      return "'2026-03-29 01:59:59.123456+00'";
    case "date":
      return "'2026-03-29'";
    case "boolean":
      return "true";
    case "double precision":
    case "real":
      return "0.1";
    default:
      return "7";
  }
}

/** Writes a row with a value in each column into every table of the schema that has no row, whatever the product would write. */
export async function fillEmptyTables(db: Db): Promise<void> {
  const tables = await db.query<{ name: string; columns: Column[] }>(
    `select c.relname::text as name,
            (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null)) order by a.attnum)
               from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                and a.attgenerated = '' and a.attidentity = '') as columns
       from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      -- Rows of others belong to an account.
      order by c.relname <> 'accounts', 1`,
  );
  for (const { name, columns } of tables) {
    const [{ empty }] = (await db.query<{ empty: boolean }>(`select not exists (select from ${name}) as empty`)) as [
      { empty: boolean },
    ];
    if (!empty) continue;
    const values = columns.map((column) => CHOSEN[`${name}.${column.name}`] ?? sampleOf(column));
    await db
      .run(
        `insert into ${name} (${columns.map((column) => `"${column.name}"`).join(", ")}) values (${values.join(", ")})`,
      )
      .catch((error: Error) => {
        throw new Error(`${name}: ${error.message}: choose values that it takes in ${import.meta.filename}`);
      });
  }
}
