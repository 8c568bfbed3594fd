import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { readTargets, type TargetRow } from "@/lib/sources/targets/targets.read";

/** null = the redrive names none. Throws DomainError `unknown-target`, or `forbidden` for a source that the viewer may not redrive to. */
export async function redriveTarget(
  db: Queryable,
  viewer: Viewer,
  name: string | null | undefined,
): Promise<TargetRow | null> {
  if (name === undefined || name === null) return null;
  const target = (await readTargets(db)).find((row) => row.name === name && sees(viewer, row.source));
  if (!target) throw unknownTarget(name, "target");
  assertMay(viewer, "redrive", [target.source]);
  return target;
}

/** Throws DomainError `invalid-request` when a source of the events is of another kind than the target. */
export async function assertSameKind(
  db: Queryable,
  target: TargetRow,
  sources: readonly string[] | null,
): Promise<void> {
  const other = (await readTargets(db)).find(({ source, kind }) => sources?.includes(source) && kind !== target.kind);
  if (!other) return;
  const detail = `${target.name} is of kind ${target.kind}, and ${other.source} is of kind ${other.kind}: select events of ${target.kind} sources, or name another target`;
  throw new DomainError("invalid-request", detail, { fields: [{ field: "target", detail }] });
}

export function unknownTarget(name: string, field = "name"): DomainError {
  return new DomainError("unknown-target", `There is no target ${name}`, {
    fields: [{ field, detail: "list targets with GET /api/v1/targets" }],
  });
}
