import { createHash } from "node:crypto";
import { readTypedTexts } from "@/lib/guard/masking/typed-texts.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { canonicalJson } from "@/lib/platform/plain/json-text.pure";
import type { EventPast, RuleOutcomes } from "@/lib/rules/redrive-rule.pure";
import {
  type RedriveRuleBody,
  type RedriveRuleOut,
  type RedriveRuleRow,
  type RedriveRuleTrial,
  readRedriveRuleBody,
} from "@/lib/rules/redrive-rules.shapes";
import { wasConfirmed } from "@/lib/selection/filter/event-filter.sql";
import { ITEM, LIVE_REDRIVES } from "@/lib/states/state.sql";

/** Two rules that do the same have the same digest. */
export function digestOf(body: RedriveRuleBody): string {
  return createHash("sha256").update(canonicalJson(body)).digest("hex").slice(0, 32);
}

/** Events that the rule `t` took since `age` ago. */
const takenSince = (age: string) => `(select coalesce(sum(x.events), 0)::bigint from redrive_rule_runs x
  where x.rule_id = t.id and x.at > now() - interval '${age}')`;

const summed = (column: string) => `coalesce(sum(d.${column}), 0)::bigint as ${column}`;
const OUTCOMES = `(select to_jsonb(o) from (
  select ${["delivered", "deduplicated", "confirmed", "failed", "bounced"].map(summed).join(", ")}
    from redrive_rule_runs x join redrives d on d.id = x.redrive_id
   where x.rule_id = t.id and x.at >= t.enabled_at and x.at > now() - interval '24 hours') o)`;

const LAST_RUN = `(select jsonb_build_object('redriveId', x.redrive_id, 'atMs', (extract(epoch from x.at) * 1000)::float8, 'events', x.events,
         'live', coalesce(d.state in ${LIVE_REDRIVES}, false))
    from redrive_rule_runs x left join redrives d on d.id = x.redrive_id
   where x.rule_id = t.id order by x.at desc limit 1)`;

type WorkColumns = {
  lastHour: number;
  lastDay: number;
  outcomes: RuleOutcomes & { deduplicated: number; confirmed: number };
  lastRun: { redriveId: string; atMs: number; events: number; live: boolean } | null;
};
/** What a rule `t` did. */
export const WORK = {
  lastHour: takenSince("1 hour"),
  lastDay: takenSince("24 hours"),
  outcomes: OUTCOMES,
  lastRun: LAST_RUN,
} satisfies Record<keyof WorkColumns, string>;
const WORK_FIELDS = Object.keys(WORK) as (keyof WorkColumns)[];

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
    `select v.revision::text, t.id, t.name, t.version, t.run::text, t.looked_to as "lookedTo", t.fault, t.body,
            ${WORK_FIELDS.map((field) => `${WORK[field]} as "${field}"`)}
       from redrive_rule_revision v left join redrive_rules t on t.enabled
      order by t.position, t.id`,
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

/** Stored rules as the API answers them. A rule that this version cannot read is left out. */
export async function rulesOut(rows: RedriveRuleRow[], db: Queryable, viewer: Viewer): Promise<RedriveRuleOut[]> {
  const read = rows.flatMap(({ authors: _authors, lookedTo: _lookedTo, ...row }) => {
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
