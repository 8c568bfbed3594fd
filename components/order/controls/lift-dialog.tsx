"use client";

import { ReasonDialog } from "@/components/ui/reason-dialog";
import { failureToast, showToast } from "@/components/ui/toast";
import { useImposeControl, useLiftControl } from "@/lib/order/controls/controls.browser";
import type { ControlOut, ControlRequest } from "@/lib/order/controls/controls.shapes";
import { plural } from "@/lib/platform/plain/format.pure";
import { isOfEverySource, SCOPE_LABEL, scopeLimits, scopeOf } from "./scope-words";

const LIFTED: Record<ControlOut["kind"], string> = {
  blacklist: "Its events can be redriven again. Lifting it does not start a redrive.",
  cooldown: "Its events no longer wait. Lifting it does not start a redrive.",
  whitelist: "Its events wait for their cooldowns again.",
};

export function LiftDialog({ control, onClose }: { control: ControlOut; onClose: () => void }) {
  const lift = useLiftControl();
  const impose = useImposeControl();
  const { kind, reason: why, expiresAt } = control;
  /** Undoes the lift: a new control of the same kind, scope, reason and end, by the person who undoes. */
  const imposeAgain = () =>
    void impose
      .mutateAsync({ kind, scope: control.scope as ControlRequest["scope"], reason: why, expiresAt })
      .then(() => showToast({ title: `The ${kind} is in force again`, tone: "success" }))
      .catch((error: unknown) => failureToast("The lift could not be undone", error));
  const scope = scopeOf(control.scope);
  return (
    <ReasonDialog
      needs="control"
      everySource={isOfEverySource(control.scope)}
      title={`Lift this ${kind}?`}
      description={LIFTED[kind]}
      size="sm"
      verb="Lift"
      keep="Keep the control"
      onClose={onClose}
      onSubmit={async (reason) => {
        await lift.mutateAsync({ id: control.id, reason });
        return {
          title: `Lifted the ${kind}`,
          tone: "success",
          action: { label: "Undo", onSelect: imposeAgain },
        };
      }}
    >
      <p className="wrap-anywhere">
        {scope ? (
          <>
            <span className="text-muted">{SCOPE_LABEL[scope.name]}</span>{" "}
            <span className="font-mono text-sm">{scope.value}</span> {scopeLimits(control.scope)}
          </>
        ) : null}
        {control.catches === null ? null : (
          <span className="text-muted"> · {plural(control.catches, "event")} matched now</span>
        )}
      </p>
    </ReasonDialog>
  );
}
