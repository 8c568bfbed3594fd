"use client";

import { ReasonDialog } from "@/components/ui/reason-dialog";
import { useDeleteRule } from "@/lib/browser/admission";
import type { RuleOut } from "@/lib/contract/admission";

export function DeleteRuleDialog({ rule, onClose }: { rule: RuleOut; onClose: () => void }) {
  const remove = useDeleteRule();
  return (
    <ReasonDialog
      title={`Delete ${rule.name}?`}
      description="Its counts and samples are no longer shown. Events that it changed stay as they are, and name it."
      size="sm"
      verb="Delete"
      variant="danger"
      keep="Keep it"
      onClose={onClose}
      onSubmit={async (reason) => {
        await remove.mutateAsync({ id: rule.id, reason });
        return { title: `Deleted ${rule.name}`, tone: "success" };
      }}
    />
  );
}
