"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Field, Textarea } from "@/components/ui/input";
import { showToast } from "@/components/ui/toast";
import { useChangeTarget } from "@/lib/browser/targets";
import type { TargetOut } from "@/lib/contract/sources";
import type { TargetChange } from "@/lib/contract/targets";

type Order = NonNullable<TargetChange["breaker"]>;

const ORDERS: Record<Order, { title: string; effect: string; button: string; danger: boolean }> = {
  open: {
    title: "Hold the breaker open",
    effect: "Nothing is sent to this target until the breaker is let go. Redrives wait; their events stay queued.",
    button: "Hold open",
    danger: true,
  },
  closed: {
    title: "Hold the breaker closed",
    effect: "Everything is sent, whatever the target answers. Nothing protects a target that is down.",
    button: "Hold closed",
    danger: true,
  },
  auto: {
    title: "Let the breaker decide",
    effect: "It opens and closes by its policy again.",
    button: "Let it decide",
    danger: false,
  },
  reset: {
    title: "Reset the breaker",
    effect: "It closes and forgets the failures, latencies and healing steps it counted.",
    button: "Reset",
    danger: false,
  },
};

export function BreakerDialog({ target, order, onClose }: { target: TargetOut; order: Order; onClose: () => void }) {
  const change = useChangeTarget(target.name);
  const [reason, setReason] = useState("");
  const [pressed, setPressed] = useState(false);
  const words = ORDERS[order];
  const missing = reason.trim() === "";
  const submit = async () => {
    setPressed(true);
    if (missing) return;
    try {
      await change.mutateAsync({ breaker: order, reason: reason.trim() });
    } catch {
      return; // shown from change.error
    }
    onClose();
    void showToast({ title: `${words.button}: ${target.name}`, tone: "success" });
  };
  return (
    <Dialog
      title={`${words.title} of ${target.name}?`}
      description={words.effect}
      size="sm"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button variant={words.danger ? "danger" : "primary"} busy={change.isPending} onClick={submit}>
            {words.button}
          </Button>
        </>
      }
    >
      <div className="grid gap-3">
        {change.isError ? <ErrorPanel error={change.error} inline title="This was not done" /> : null}
        <Field label="Reason" error={pressed && missing ? "Say why: the reason is kept in the audit." : undefined}>
          {(control) => (
            <Textarea
              {...control}
              rows={2}
              maxLength={2_000}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
          )}
        </Field>
      </div>
    </Dialog>
  );
}
