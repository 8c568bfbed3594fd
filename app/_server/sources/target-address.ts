import { type SourceConfig, targetAddress } from "@/lib/brokers/kinds/kinds.shapes";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import { unknownTarget } from "@/lib/sources/targets/redrive-target";
import { listTargets } from "@/lib/sources/targets/target-list.read";
import type { TargetRow } from "@/lib/sources/targets/targets.read";

/** Where a stored target delivers, for display. Its configuration was validated when it was stored. */
export function addressOf(target: TargetRow): string | null {
  return targetAddress({ kind: target.kind, config: target.config } as SourceConfig, target.lane);
}

/** One target as the API shows it. Throws DomainError `unknown-target`. */
export async function shownTarget(db: Queryable, viewer: Viewer, name: string): Promise<TargetOut> {
  const { items } = await listTargets(db, viewer, addressOf);
  const target = items.find((item) => item.name === name);
  if (!target) throw unknownTarget(name);
  return target;
}
