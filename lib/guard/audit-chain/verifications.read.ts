import type { Anchor, ChainReport } from "@/lib/guard/audit-chain/chain.pure";
import { readHead } from "@/lib/guard/audit-chain/head.read";
import { STANDING_FINDING } from "@/lib/guard/audit-chain/standing-finding.sql";
import type { AuditChainOut, AuditVerificationOut } from "@/lib/guard/audit-chain/verifications.shapes";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Of anchors. */
const PAGE = 1_000;

type VerificationRow = {
  id: string;
  extent: "whole" | "recent";
  requestedBy: string;
  requestedMs: number;
  finishedMs: number | null;
  seals: number;
  good: boolean | null;
  result: ChainReport | null;
  fault: string | null;
};

const COLUMNS = `id, extent, requested_by as "requestedBy", requested_at as "requestedMs", finished_at as "finishedMs",
  seals, good, result, fault`;

/** One check. Throws DomainError `unknown-audit-verification`. For viewers of every source. */
export async function readVerification(db: Queryable, viewer: Viewer, id: string): Promise<AuditVerificationOut> {
  assertMay(viewer, "view", "all");
  const [row] = await db.query<VerificationRow>(`select ${COLUMNS} from audit_verifications where id = $1`, [id]);
  if (!row) throw new DomainError("unknown-audit-verification", `There is no check of the audit ${id}`);
  return verificationOut(row);
}

function verificationOut({ requestedMs, finishedMs, result, ...row }: VerificationRow): AuditVerificationOut {
  return {
    ...row,
    requestedAt: iso(requestedMs),
    finishedAt: finishedMs === null ? null : iso(finishedMs),
    entries: result?.entries ?? null,
    anchors: result?.anchors ?? null,
    redactions: result?.redactions ?? null,
    appendOnly: result?.appendOnly ?? null,
    first: result?.first ?? null,
    findings: result?.findings ?? [],
    findingsTotal: result?.findingsTotal ?? null,
  };
}

/** The end of the chain, what waits, the last anchors and checks. For viewers of every source. */
export async function readChain(db: Queryable, viewer: Viewer): Promise<AuditChainOut> {
  assertMay(viewer, "view", "all");
  const latest = (where: string) =>
    db.query<VerificationRow>(`select ${COLUMNS} from audit_verifications where ${where} order by id desc limit 1`);
  const [running] = await latest("finished_at is null");
  const [last] = await latest("finished_at is not null");
  const [lastWhole] = await latest("finished_at is not null and extent = 'whole'");
  const [standing] = await db.query<VerificationRow>(`select ${COLUMNS} from (${STANDING_FINDING}) standing`);
  const [waiting] = await db.query<{ n: number; since: number | null }>(
    "select count(*) as n, min(since) as since from (select since from audit_pending limit 10000) counted",
  );
  const anchors = await readLastAnchors(db);
  const head = await readHead(db);
  return {
    head: head && { seq: head.seq, chainHash: head.chainHash, sealedAt: iso(head.sealedAtMs) },
    waiting: { count: waiting!.n, since: waiting!.since === null ? null : iso(waiting!.since) },
    anchors: anchors.map(({ atMs, ...anchor }) => ({ ...anchor, at: iso(atMs) })),
    running: running ? verificationOut(running) : null,
    last: last ? verificationOut(last) : null,
    lastWhole: lastWhole ? verificationOut(lastWhole) : null,
    standing: standing ? verificationOut(standing) : null,
  };
}

/** Of each place. */
async function readLastAnchors(db: Queryable): Promise<Anchor[]> {
  return db.query<Anchor>(
    `select distinct on (place) place, seq, encode(chain_hash, 'hex') as "chainHash", at as "atMs"
       from audit_anchors order by place, id desc`,
  );
}

/** All that the store itself remembers of anchors, a page at a time. */
export async function* readStoredAnchors(db: Queryable): AsyncGenerator<Anchor[], void> {
  for (let after: string | null = null; ; ) {
    const page: (Anchor & { id: string })[] = await db.query(
      `select id, place, seq, encode(chain_hash, 'hex') as "chainHash", at as "atMs"
         from audit_anchors where $1::uuid is null or id > $1 order by id limit ${PAGE}`,
      [after],
    );
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)!.id;
  }
}
