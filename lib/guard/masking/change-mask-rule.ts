import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { DomainError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { readSourceId } from "@/lib/sources/sources.read";
import { type MaskKind, patternFault } from "./mask-rule.pure";
import { forgetMasks, readMaskRule } from "./mask-rules.read";
import type { MaskRuleChange, MaskRuleOut, MaskRuleRequest } from "./mask-rules.shapes";

type ChangeDeps = Pick<Deps, "db" | "clock">;

/** Throws DomainError `forbidden`, `unknown-source`, `invalid-mask-rule`, `name-taken`. */
export async function addMaskRule(
  { db, clock }: ChangeDeps,
  { kind, pattern, source, enabled }: MaskRuleRequest,
  viewer: Viewer,
): Promise<MaskRuleOut> {
  assertMay(viewer, "change-masks", source === undefined ? "all" : [source]);
  if (source !== undefined) await readSourceId(db, viewer, source);
  assertPattern(kind, pattern);
  const atMs = clock.wallMs();
  const id = uuidv7(atMs);
  await changing(db, async (tx) => {
    const added = await tx.run(
      `insert into mask_rules (id, source, kind, pattern, enabled, created_by, created_at, updated_by, updated_at)
       values ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000), $6, to_timestamp($7::float8 / 1000))
       on conflict do nothing`,
      [id, source ?? null, kind, pattern, enabled, viewer.name, atMs],
    );
    if (added === 0) throw taken(pattern);
    await audit(tx, viewer, {
      id,
      action: "mask-rule.added",
      before: null,
      after: { kind, pattern, source: source ?? null, enabled },
      atMs,
    });
  });
  return readMaskRule(db, viewer, id);
}

/** Throws DomainError `forbidden`, `unknown-mask-rule`, `invalid-mask-rule`, `name-taken`. */
export async function changeMaskRule(
  { db, clock }: ChangeDeps,
  { id, ...change }: MaskRuleChange & { id: string },
  viewer: Viewer,
): Promise<MaskRuleOut> {
  const before = await readMaskRule(db, viewer, id);
  assertMay(viewer, "change-masks", before.source === null ? "all" : [before.source]);
  const { kind, source } = before;
  const { pattern = before.pattern, enabled = before.enabled } = change;
  assertPattern(kind, pattern);
  const atMs = clock.wallMs();
  await changing(db, async (tx) => {
    const twins = await tx.query(
      "select 1 from mask_rules where id <> $1 and kind = $2 and pattern = $3 and source is not distinct from $4",
      [id, kind, pattern, source],
    );
    if (twins.length > 0) throw taken(pattern);
    const changed = await tx.run(
      `update mask_rules set pattern = $2, enabled = $3, updated_by = $4, updated_at = to_timestamp($5::float8 / 1000)
        where id = $1 and (pattern, enabled) is distinct from ($2, $3)`,
      [id, pattern, enabled, viewer.name, atMs],
    );
    if (changed === 0) return;
    await audit(tx, viewer, {
      id,
      action: "mask-rule.changed",
      before: { kind, pattern: before.pattern, source, enabled: before.enabled },
      after: { kind, pattern, source, enabled },
      atMs,
    });
  });
  return readMaskRule(db, viewer, id);
}

/** Throws DomainError `forbidden`, `unknown-mask-rule`. */
export async function removeMaskRule({ db, clock }: ChangeDeps, id: string, viewer: Viewer): Promise<void> {
  const { kind, pattern, source, enabled } = await readMaskRule(db, viewer, id);
  assertMay(viewer, "change-masks", source === null ? "all" : [source]);
  await changing(db, async (tx) => {
    if ((await tx.run("delete from mask_rules where id = $1", [id])) === 0) return;
    await audit(tx, viewer, {
      id,
      action: "mask-rule.removed",
      before: { kind, pattern, source, enabled },
      after: null,
      atMs: clock.wallMs(),
    });
  });
}

function assertPattern(kind: MaskKind, pattern: string): void {
  const fault = patternFault(kind, pattern);
  if (fault !== null) throw invalidFields([{ field: "pattern", detail: fault }], "invalid-mask-rule");
}

async function changing(db: ChangeDeps["db"], work: (tx: Tx) => Promise<void>): Promise<void> {
  try {
    await db.transaction(work);
  } finally {
    forgetMasks();
  }
}

function taken(pattern: string): DomainError {
  return new DomainError("name-taken", `There is a rule for ${JSON.stringify(pattern)} already: change that one`, {
    fields: [{ field: "pattern", detail: "has a rule of this kind and source" }],
  });
}

type Change = { id: string; action: string; before: unknown; after: unknown; atMs: number };

async function audit(tx: Tx, viewer: Viewer, { id, action, before, after, atMs }: Change): Promise<void> {
  const subject = { actor: viewer.name, action, subjectKind: "mask-rule" as const, subjectId: id, reason: null };
  await appendAudit(tx, { ...subject, before, after, count: 1, atMs });
}
