"use client";

import { ReasonDialog } from "@/components/ui/reason-dialog";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import { useRemoveTarget } from "@/lib/sources/targets/targets.browser";

/** The server refuses it while a redrive or a fallback uses the target, and names which. */
export function RemoveTargetDialog({ target, onClose }: { target: TargetOut; onClose: () => void }) {
  const remove = useRemoveTarget();
  return (
    <ReasonDialog
      needs={["change-source", "change-target"]}
      title={<span className="wrap-anywhere">Remove {target.name}?</span>}
      description="Its rate and breaker go with it; the history of events keeps its name. What it was sent stays there."
      size="sm"
      verb="Remove the target"
      variant="danger"
      keep="Keep it"
      onClose={onClose}
      onSubmit={async (reason) => {
        await remove.mutateAsync({ id: target.name, reason });
        return { title: `Removed ${target.name}` };
      }}
    />
  );
}
