import { createHash } from "node:crypto";
import { wasConfirmed } from "@/lib/events/filter/event-filter.sql";
import { readTypedTexts } from "@/lib/guard/masking/typed-texts.read";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { canonicalJson } from "@/lib/platform/plain/json-text.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { ITEM, LIVE_REDRIVES } from "@/lib/redrive/states/state.sql";
import type { EventPast, RuleOutcomes } from "@/lib/rules/redrive-rule.pure";
import {
  type RedriveRuleBody,
  type RedriveRuleList,
  type RedriveRuleOut,
  type RedriveRuleTrial,
  readRedriveRuleBody,
} from "@/lib/rules/redrive-rules.shapes";
import { RULE_COLUMNS, type RuleColumns } from "@/lib/rules/rules.read";

export function unknownRedriveRule(id: string): DomainError {
  return new DomainError("unknown-redrive-rule", `There is no redrive rule ${id}: it may have been deleted`, {
    fields: [{ field: "id", detail: "list the rules with GET /api/v1/redrive-rules" }],
  });
}

/** Two rules that do the same have the same digest. */
export function digestOf(body: RedriveRuleBody): string {
  return createHash("sha256").update(canonicalJson(body)).digest("hex").slice(0, 32);
}

/** Events that the rule `r` took since `age` ago. */
const takenSince = (age: string) => `(select coalesce(sum(x.events), 0)::bigint from redrive_rule_runs x
  where x.rule_id = r.id and x.at > now() - interval '${age}')`;

const summed = (column: string) => `coalesce(sum(d.${column}), 0)::bigint as ${column}`;
const OUTCOMES = `(select to_jsonb(o) from (
  select ${["delivered", "deduplicated", "confirmed", "failed", "bounced"].map(summed).join(", ")}
    from redrive_rule_runs x join redrives d on d.id = x.redrive_id
   where x.rule_id = r.id and x.at >= r.enabled_at and x.at > now() - interval '24 hours') o)`;

const LAST_RUN = `(select jsonb_build_object('redriveId', x.redrive_id, 'atMs', (extract(epoch from x.at) * 1000)::float8, 'events', x.events,
         'live', coalesce(d.state in ${LIVE_REDRIVES}, false))
    from redrive_rule_runs x left join redrives d on d.id = x.redrive_id
   where x.rule_id = r.id order by x.at desc limit 1)`;

type WorkColumns = {
  lastHour: number;
  lastDay: number;
  outcomes: RuleOutcomes & { deduplicated: number; confirmed: number };
  lastRun: { redriveId: string; atMs: number; events: number; live: boolean } | null;
};
const WORK_COLUMNS = `${takenSince("1 hour")} as "lastHour", ${takenSince("24 hours")} as "lastDay", ${OUTCOMES} as outcomes,
  ${LAST_RUN} as "lastRun"`;

/** A rule as a worker's round reads it. `body` null: this version cannot read what is stored. */
export type RuleInForce = WorkColumns & {
  id: string;
  name: string;
  version: number;
  run: string;
  lookedTo: string | null;
  fault: string | null;
  body: RedriveRuleBody | null;
};

/** The enabled rules in their order, with the revision that they are of. */
export async function readRedriveRulesInForce(db: Queryable): Promise<{ revision: string; rules: RuleInForce[] }> {
  // One statement: the rules are those of the revision.
  const rows = await db.query<{ revision: string } & Omit<RuleInForce, "body"> & { body: unknown }>(
    `select v.revision::text, r.id, r.name, r.version, r.run::text, r.looked_to as "lookedTo", r.fault, r.body, ${WORK_COLUMNS}
       from redrive_rule_revision v left join redrive_rules r on r.enabled
      order by r.position, r.id`,
    [],
    { name: "redrive-rules-in-force" },
  );
  const rules = rows.flatMap(({ revision: _revision, ...rule }) => (rule.id === null ? [] : [withBody(rule)]));
  return { revision: rows[0]?.revision ?? "0", rules };
}

function withBody<Row extends { body: unknown }>(row: Row): Omit<Row, "body"> & { body: RedriveRuleBody | null } {
  const read = readRedriveRuleBody(row.body);
  return { ...row, body: "body" in read ? read.body : null };
}

type RuleRow = RuleColumns &
  WorkColumns & {
    fault: string | null;
    enabledBy: string | null;
    enabledAt: string | null;
    stoppedAt: string | null;
    stopReason: string | null;
  };

const COLUMNS = `${RULE_COLUMNS}, r.fault, r.enabled_by as "enabledBy", r.enabled_at as "enabledAt",
  r.stopped_at as "stoppedAt", r.stop_reason as "stopReason", ${WORK_COLUMNS}`;

/** A rule takes events of all the sources of its filter, so a viewer sees all of the rule or nothing. */
const SEEN = `($1::text[] is null or r.body -> 'filter' -> 'source' <@ to_jsonb($1::text[]))`;

export async function listRedriveRules(db: Queryable, viewer: Viewer): Promise<RedriveRuleList> {
  return { items: await readRows(db, viewer, "true", []) };
}

/** Throws DomainError `unknown-redrive-rule`. */
export async function readRedriveRule(db: Queryable, viewer: Viewer, id: string): Promise<RedriveRuleOut> {
  const [rule] = await readRows(db, viewer, "r.id = $2", [id]);
  if (!rule) throw unknownRedriveRule(id);
  return rule;
}

async function readRows(db: Queryable, viewer: Viewer, where: string, values: unknown[]): Promise<RedriveRuleOut[]> {
  const rows = await db.query<RuleRow>(
    `select ${COLUMNS} from redrive_rules r where ${SEEN} and ${where} order by r.position, r.id`,
    [sourceScope(viewer), ...values],
    { isoTimes: true },
  );
  const read = rows.flatMap((row) => {
    const { body, ...rest } = withBody(row);
    return body === null ? [] : [{ ...rest, body, digest: digestOf(body) }];
  });
  const typed = await readTypedTexts(db, viewer);
  const trials = await newestTrials(db, [...new Set(read.map(({ digest }) => digest))]);
  return read.map(({ body, stoppedAt, stopReason, lastRun, ...rule }) => ({
    ...rule,
    ...body,
    filter: typed.filter(body.filter),
    stopped: stoppedAt === null ? null : { at: stoppedAt, reason: stopReason ?? "" },
    lastRun: lastRun && {
      redriveId: lastRun.redriveId,
      at: iso(lastRun.atMs),
      events: lastRun.events,
      live: lastRun.live,
    },
    trial: trials.get(rule.digest) ?? null,
  }));
}

async function newestTrials(db: Queryable, digests: string[]): Promise<Map<string, RedriveRuleOut["trial"]>> {
  if (digests.length === 0) return new Map();
  const rows = await db.query<{ digest: string } & NonNullable<RedriveRuleOut["trial"]>>(
    `select distinct on (digest) digest, id, created_at as at, created_by as by,
            (result ->> 'taken')::int as taken, (result ->> 'stayed')::int as stayed,
            coalesce((result ->> 'never')::int, 0) as never
       from redrive_rule_trials where digest = any($1::text[]) order by digest, created_at desc`,
    [digests],
    { isoTimes: true },
  );
  return new Map(rows.map(({ digest, ...trial }) => [digest, trial]));
}

/** The stored counts of a trial; null = there is no such trial of this digest. */
export async function readTrial(
  db: Queryable,
  id: string,
): Promise<{ digest: string; result: Omit<RedriveRuleTrial, "id" | "digest"> } | null> {
  const [row] = await db.query<{ digest: string; result: Omit<RedriveRuleTrial, "id" | "digest"> }>(
    "select digest, result from redrive_rule_trials where id = $1",
    [id],
  );
  return row ?? null;
}

const ms = (time: string) => `(extract(epoch from ${time}) * 1000)::float8`;

/** What happened to parked events. `groups`: also when their groups succeeded last. */
export async function readEventPasts(
  db: Queryable,
  ids: readonly string[],
  groups: boolean,
): Promise<Map<string, EventPast>> {
  const rows = await db.query<{ id: string } & EventPast>(
    `with these as materialized (
       select e.id, e.fingerprint, e.source_id,
              case when e.redrives = 0 and e.bounces = 0 then e.first_seen
                   else greatest(e.first_seen, e.redrive_at, least(e.last_attempt_at, now())) end as since
         from dlq_events e where e.id = any($1::uuid[])
     ), kinds as materialized (
       select k.fingerprint, k.source_id,
              (select max(c.confirmed_at) from dlq_events c
                where c.fingerprint = k.fingerprint and c.source_id = k.source_id and ${wasConfirmed("c")}) as at
         from (select distinct fingerprint, source_id from these where $2) k
     )
     select t.id, ${ms("t.since")} as "sinceMs", p.redrives, p.refusals, ${ms("p.last")} as "lastMs", ${ms("k.at")} as "groupSucceededMs"
       from these t
       left join kinds k on k.fingerprint = t.fingerprint and k.source_id = t.source_id
       cross join lateral (
         select count(*) filter (where i.state <> ${ITEM.refused})::int as redrives,
                count(*) filter (where i.state = ${ITEM.refused})::int as refusals, max(x.at) as last
           from redrive_items i join redrive_rule_runs x on x.redrive_id = i.redrive_id where i.id = t.id) p`,
    [ids, groups],
    { name: "event-pasts" },
  );
  return new Map(rows.map(({ id, ...past }) => [id, past]));
}
