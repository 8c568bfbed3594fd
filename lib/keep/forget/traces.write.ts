import type { Patterns } from "@/lib/keep/forget/forget-key.pure";
import type { Tx } from "@/lib/platform/database/db";
import { BULK, REDRIVE } from "@/lib/states/state.sql";

/**
 * Texts of the store beside events that may name a person, and what a forget does with them. A test compares the columns here,
 * and those that it lists itself with a reason, with all columns of the store: a new one is not forgotten by accident.
 */
type Trace = {
  table: string;
  text: readonly string[];
  json?: readonly string[];
  /** JSON as bytes in UTF-8. */
  jsonBytes?: readonly string[];
  /** Only the rows for which this holds: others are at work. */
  where?: string;
};

export const TRACES: readonly Trace[] = [
  { table: "saved_views", text: ["name"], json: ["filter"] },
  { table: "controls", text: ["value", "aggregate_type", "reason", "lift_reason"] },
  { table: "dlq_groups", text: ["message_pattern", "exception_type", "first_frame"] },
  { table: "group_aliases", text: ["pattern", "template", "note"] },
  {
    table: "bulk_operations",
    text: ["reason", "fault"],
    json: ["selection", "options"],
    where: `state <> ${BULK.RUNNING}`,
  },
  {
    table: "redrives",
    text: ["reason", "pause_reason"],
    json: ["selection"],
    where: `state in (${REDRIVE.DONE}, ${REDRIVE.CANCELLED})`,
  },
  { table: "approvals", text: ["reason"], json: ["causes", "terms"], where: "state <> 'asked'" },
  { table: "stops", text: ["reason"] },
  { table: "skipped_heads", text: ["reason"] },
  { table: "recipes", text: ["name"], json: ["recipe"] },
  { table: "payload_schemas", text: ["reason", "event_type"], json: ["body"] },
  { table: "redrive_rules", text: ["name", "fault", "stop_reason"], json: ["body"] },
  { table: "redrive_rule_trials", text: [], json: ["result"] },
  { table: "admission_rules", text: ["name"], json: ["body"] },
  { table: "admission_rule_versions", text: ["name", "reason"], json: ["body"] },
  { table: "admission_samples", text: ["event_id", "error_type", "error_message", "fault"] },
  { table: "source_consumers", text: ["last_error"], json: ["parts"] },
  { table: "idempotency_keys", text: [], json: ["response"] },
  { table: "policies", text: ["reason"] },
  { table: "sources", text: ["mode_reason"] },
  { table: "forgets", text: ["reason", "fault"] },
  { table: "alerts", text: ["rule_name", "sentence", "acknowledge_note"], json: ["subject", "evidence"] },
  { table: "alert_outbox", text: ["last_error"], jsonBytes: ["payload"] },
  { table: "alert_rules", text: ["name", "fault"], json: ["body"] },
  { table: "alert_maintenances", text: ["reason"] },
  { table: "group_mutes", text: ["reason"] },
  { table: "markers", text: ["label", "url"] },
];

/** Of one table: `$1` the pattern of texts, `$2` that of JSON. */
function replaceIn({ table, text, json = [], jsonBytes = [], where = "true" }: Trace): string {
  const textOf = (column: string) => `convert_from(${column}, 'UTF8')`;
  const sets = [
    ...text.map((column) => `${column} = regexp_replace(${column}, $1, '[forgotten]', 'g')`),
    ...json.map((column) => `${column} = audit_owner.forget_in_json(${column}::jsonb, $1)::${typeOf(table, column)}`),
    ...jsonBytes.map(
      (column) => `${column} = convert_to(audit_owner.forget_in_json(${textOf(column)}::jsonb, $1)::text, 'UTF8')`,
    ),
  ];
  const found = [
    ...text.map((column) => `${column} ~ $1`),
    ...json.map((column) => `${column}::text ~ $2`),
    ...jsonBytes.map((column) => `${textOf(column)} ~ $2`),
  ];
  // Both are named, so that the server knows their types.
  return `update ${table} set ${sets.join(", ")} where (${found.join(" or ")}) and ${where} and $1::text <> '' and $2::text <> ''`;
}

/** These two keep the text of their JSON as it came, while nothing in it is replaced. */
function typeOf(table: string, column: string): "json" | "jsonb" {
  return `${table}.${column}` === "idempotency_keys.response" || `${table}.${column}` === "payload_schemas.body"
    ? "json"
    : "jsonb";
}

/** Replaces what the patterns find in all texts beside events. Returns the number of changed rows. */
export async function replaceTraces(tx: Tx, { text, json }: Patterns): Promise<number> {
  let changed = 0;
  for (const trace of TRACES) changed += await tx.run(replaceIn(trace), [text, json]);
  return changed;
}

/** A control over something that is forgotten has nothing to catch any more: it ends. */
export async function endNamedControls(tx: Tx, { text }: Patterns, by: string): Promise<number> {
  return tx.run(
    `update controls set lifted_at = now(), lifted_by = $2, lift_reason = 'what it was over was forgotten'
      where lifted_at is null and (value ~ $1 or aggregate_type ~ $1)`,
    [text, by],
  );
}

/** Keys and messages that name one of these values: they are of no use without it. Returns the number of rows. */
export async function forgetMessages(tx: Tx, values: readonly string[]): Promise<number> {
  const named = await tx.run(
    `delete from outbox o using unnest($1::text[]) v
      where o.aggregate_id = v or o.message_key = v or (length(v) >= 6 and position(convert_to(v, 'UTF8') in o.payload) > 0)`,
    [values],
  );
  const drops = await tx.run("delete from admission_drops where event_id = any($1::text[])", [values]);
  return named + drops + (await tx.run("delete from idempotency_keys where key = any($1::text[])", [values]));
}

/** Of these names, the ids of events, and those of aggregates without events. */
export async function forgetNamedKeys(
  tx: Tx,
  names: readonly string[],
  emptyAggregates: ReadonlySet<string>,
): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `select name from unnest($1::text[]) name
      where not exists (select 1 from dlq_event_facts f where f.aggregate_id = name)
        and not exists (select 1 from archived_events a where a.aggregate_id = name or a.event_id = name)
        and not exists (select 1 from event_keys k where k.event_id = name)`,
    [names],
  );
  return [...new Set([...rows.map(({ name }) => name), ...emptyAggregates])];
}
