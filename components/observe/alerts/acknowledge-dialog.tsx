"use client";

import { ReasonDialog } from "@/components/ui/reason-dialog";
import { failureToast } from "@/components/ui/toast";
import { useAcknowledge } from "@/lib/observe/alerts/alerts.browser";
import { plural } from "@/lib/platform/plain/format.pure";

/** Says that somebody looks at these alerts. */
export function AcknowledgeDialog({ ids, onClose }: { ids: readonly string[]; onClose: () => void }) {
  const send = useAcknowledge();
  return (
    <ReasonDialog
      needs="acknowledge"
      title={`Acknowledge ${plural(ids.length, "alert")}?`}
      description="Others see that you are working on it. Its message is not repeated; it keeps firing until its cause ends."
      size="sm"
      verb="Acknowledge"
      reason="optional"
      reasonHint="Tell the others what you are doing, and where."
      onClose={onClose}
      onSubmit={async (note) => {
        const { changed, unchanged } = await send.mutateAsync({
          ids: [...ids],
          acknowledged: true,
          ...(note ? { note } : {}),
        });
        const rest = unchanged === 0 ? "" : `; ${unchanged} already resolved or acknowledged`;
        return {
          title: `Acknowledged ${plural(changed, "alert")}${rest}`,
          tone: "success",
          action: {
            label: "Undo",
            onSelect: () =>
              void send
                .mutateAsync({ ids: [...ids], acknowledged: false })
                .catch((error: unknown) => failureToast("Undo failed", error)),
          },
        };
      }}
    />
  );
}
