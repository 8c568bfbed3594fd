import { type SourceConfig, targetAddress } from "@/lib/contract/source-config";
import type { TargetRow } from "@/lib/store/read/targets";

/** Where a stored target delivers, for display. Its configuration was validated when it was stored. */
export function addressOf(target: TargetRow): string | null {
  return targetAddress({ kind: target.kind, config: target.config } as SourceConfig, target.lane);
}
