"use client";

import { ReasonDialog } from "@/components/ui/reason-dialog";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import { useChangeTarget } from "@/lib/sources/targets/targets.browser";
import type { TargetChange } from "@/lib/sources/targets/targets.shapes";

type Order = NonNullable<TargetChange["breaker"]>;

const ORDERS: Record<Order, { title: string; effect: string; button: string; danger: boolean }> = {
  open: {
    title: "Hold the breaker open",
    effect: "Nothing is sent to this target until the breaker is released. Redrives wait; their events stay queued.",
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
    title: "Return the breaker to automatic",
    effect: "It opens and closes according to its policy again.",
    button: "Return to automatic",
    danger: false,
  },
  reset: {
    title: "Reset the breaker",
    effect: "It closes, and its counts of failures, latencies and healing steps are cleared.",
    button: "Reset",
    danger: false,
  },
};

export function BreakerDialog({ target, order, onClose }: { target: TargetOut; order: Order; onClose: () => void }) {
  const change = useChangeTarget(target.name);
  const words = ORDERS[order];
  return (
    <ReasonDialog
      needs="change-target"
      title={`${words.title} for ${target.name}?`}
      description={words.effect}
      size="sm"
      verb={words.button}
      variant={words.danger ? "danger" : "primary"}
      keep="Close"
      stops
      onClose={onClose}
      onSubmit={async (reason) => {
        await change.mutateAsync({ breaker: order, reason });
        return { title: `${words.button}: ${target.name}`, tone: "success" };
      }}
    />
  );
}
