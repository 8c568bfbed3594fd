import { CHAIN_SCOPES, type ChainHead, type ChainScope } from "@/lib/guard/audit-chain/chain.pure";
import type { Queryable, Tx } from "@/lib/platform/database/db";

export type SyslogPosition = {
  scope: ChainScope;
  /** Of the last seal that was sent; 0 = none. */
  seq: number;
  /** Of the last seal that there is. */
  headSeq: number;
  /** The position is stored, also of a chain of which nothing was sent. */
  known: boolean;
  /** The seal with this number is the one that was sent. */
  same: boolean;
};

/** True when nobody else sends until the transaction ends. */
export async function mayAloneSend(tx: Tx): Promise<boolean> {
  const [lock] = await tx.query<{ free: boolean }>(
    "select pg_try_advisory_xact_lock(hashtextextended('parkade.audit-syslog', 0)) as free",
  );
  return lock!.free;
}

/** Of each scope, the one first that was sent longest ago. */
export async function readSyslogPositions(db: Queryable): Promise<SyslogPosition[]> {
  return db.query<SyslogPosition>(
    `select s.scope, coalesce(p.seq, 0) as seq,
        coalesce((select max(a.seq) from audit_seals a where a.scope = s.scope), 0) as "headSeq",
        p.scope is not null as known,
        coalesce(p.seq, 0) = 0 or exists (
          select from audit_seals a where a.scope = p.scope and a.seq = p.seq and a.chain_hash = p.chain_hash) as same
       from unnest($1::text[]) s (scope) left join audit_syslog_positions p on p.scope = s.scope
      order by p.sent_at nulls first, s.scope`,
    [CHAIN_SCOPES],
    { name: "audit-syslog-positions" },
  );
}

/** From now on it shows how long the oldest seal has waited, also while the server has never taken one. */
export async function noteBegun(db: Queryable): Promise<void> {
  await db.run(
    `insert into audit_syslog_positions (scope, seq, chain_hash, sent_at) select s, 0, '', now() from unnest($1::text[]) s
     on conflict do nothing`,
    [CHAIN_SCOPES],
  );
}

export async function noteSent(tx: Tx, { scope, seq, chainHash }: ChainHead): Promise<void> {
  await tx.run(
    `insert into audit_syslog_positions (scope, seq, chain_hash, sent_at) values ($1, $2, decode($3, 'hex'), clock_timestamp())
     on conflict (scope) do update set seq = excluded.seq, chain_hash = excluded.chain_hash, sent_at = excluded.sent_at`,
    [scope, seq, chainHash],
    { name: "note-audit-sent" },
  );
}
