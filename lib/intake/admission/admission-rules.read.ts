import { DECIDING } from "@/lib/events/groups/aliases/aliases.sql";
import { type AliasRow, aliasesOf, type GroupAliases } from "@/lib/events/groups/aliases/group-aliases.pure";
import { maskNullable } from "@/lib/guard/masking/mask.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { AdmissionRule } from "@/lib/intake/admission/admission.pure";
import {
  type RuleCounts,
  type RuleDetail,
  type RuleList,
  type RuleOut,
  readRuleBody,
} from "@/lib/intake/admission/admission.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";
import { RULE_COLUMNS, type RuleColumns } from "@/lib/rules/rules.read";

/** The enabled rules in their order and the aliases of groups, with the revision that both are of. */
export type RulesInForce = { revision: bigint; rules: AdmissionRule[]; aliases: GroupAliases };

/** A stored rule that this version cannot read is left out: it must never keep an event from being parked. */
export async function readRulesInForce(db: Queryable): Promise<RulesInForce> {
  // One statement: rules and aliases are those of the revision.
  const [row] = await db.query<{ revision: string; rules: StoredRule[]; aliases: AliasRow[] }>(
    `select v.revision::text,
            array(select to_json(r) from (
              select id, name, source, version, body from admission_rules where enabled order by position, id) r) as rules,
            array(select to_json(a) from (
              select a.fingerprint, a.target, a.family, s.name as source, a.template
                from group_aliases a left join sources s on s.id = a.source_id
               where ${DECIDING} order by a.created_at, a.fingerprint) a) as aliases
       from admission_revision v`,
    [],
    { name: "rules-in-force" },
  );
  return {
    revision: BigInt(row?.revision ?? 0),
    rules: (row?.rules ?? []).flatMap(({ body, ...rule }) => {
      const read = readRuleBody(body);
      return "body" in read ? [{ ...rule, ...read.body }] : [];
    }),
    aliases: aliasesOf(row?.aliases ?? []),
  };
}

type StoredRule = { id: string; name: string; source: string | null; version: number; body: unknown };

type RuleRow = RuleColumns & {
  source: string | null;
  lastHour: Partial<RuleCounts> | null;
  lastDay: Partial<RuleCounts> | null;
};

/** Counts of `r.id` by outcome since the full hour before `age` ago, in the sources that `$1` holds; null = in all. */
function countsSince(age: string): string {
  return `(select jsonb_object_agg(outcome, n) from (
    select c.outcome, sum(c.n) as n from admission_counts c
     where c.rule_id = r.id and c.hour >= date_trunc('hour', now() - interval '${age}', 'UTC')
       and ($1::text[] is null or c.source_id = any(array(select id from sources where name = any($1))))
     group by c.outcome) n)`;
}

const COLUMNS = `${RULE_COLUMNS}, r.source, ${countsSince("1 hour")} as "lastHour", ${countsSince("24 hours")} as "lastDay"`;

/** A rule of every source concerns each viewer. */
const SEEN = "($1::text[] is null or r.source is null or r.source = any($1))";

/** The rules in their order. */
export async function listAdmissionRules(db: Queryable, viewer: Viewer): Promise<RuleList> {
  const scope = sourceScope(viewer);
  const [rows, superseded] = await Promise.all([
    db.query<RuleRow>(`select ${COLUMNS} from admission_rules r where ${SEEN} order by r.position, r.id`, [scope], {
      isoTimes: true,
    }),
    db.query<{ lastHour: number; lastDay: number }>(
      `select coalesce(sum(c.n) filter (where c.hour >= date_trunc('hour', now() - interval '1 hour', 'UTC')), 0)::bigint as "lastHour",
              coalesce(sum(c.n), 0)::bigint as "lastDay"
         from admission_counts c
        where c.rule_id is null and c.hour >= date_trunc('hour', now() - interval '24 hours', 'UTC')
          and ($1::text[] is null or c.source_id = any(array(select id from sources where name = any($1))))`,
      [scope],
    ),
  ]);
  return { items: rows.map(ruleOut), superseded: superseded[0]! };
}

/** One rule, with messages that it dropped or failed on. Throws DomainError `unknown-rule`. */
export async function readAdmissionRule(db: Queryable, viewer: Viewer, id: string): Promise<RuleDetail> {
  const scope = sourceScope(viewer);
  const [row] = await db.query<RuleRow>(
    `select ${COLUMNS} from admission_rules r where r.id = $2 and ${SEEN}`,
    [scope, id],
    { isoTimes: true },
  );
  if (!row) throw unknownRule(id);
  const samples = await db.query<RuleDetail["samples"][number]>(
    `select a.id, a.at, a.outcome, s.name as source, a.event_id as "eventId", a.error_code as "errorCode",
            a.error_type as "errorType", a.error_message as "errorMessage", a.fault
       from admission_samples a join sources s on s.id = a.source_id
      where a.rule_id = $2 and ($1::text[] is null or s.name = any($1))
      order by a.id desc limit ${SAMPLES_SHOWN}`,
    [scope, id],
    { isoTimes: true },
  );
  const masks = await readMasks(db);
  return {
    ...ruleOut(row),
    samples: samples.map((sample) => ({
      ...sample,
      errorMessage: maskNullable(sample.errorMessage, masks.of(sample.source)),
    })),
  };
}

const SAMPLES_SHOWN = 20;

export function unknownRule(id: string): DomainError {
  return new DomainError("unknown-rule", `There is no rule ${id}: it may have been deleted`, {
    fields: [{ field: "id", detail: "list the rules with GET /api/v1/admission-rules" }],
  });
}

const NO_COUNTS: RuleCounts = { matched: 0, dropped: 0, failed: 0 };

function ruleOut({ body, lastHour, lastDay, ...row }: RuleRow): RuleOut {
  const read = readRuleBody(body);
  return {
    ...row,
    ...("body" in read ? { ...read.body, fault: null } : { when: null, do: null, fault: faultText(read.faults) }),
    lastHour: { ...NO_COUNTS, ...lastHour },
    lastDay: { ...NO_COUNTS, ...lastDay },
  };
}

function faultText([fault]: FieldError[]): string {
  return `${fault!.field || "rule"}: ${fault!.detail}`;
}
