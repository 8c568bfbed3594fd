"use client";

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { failureToast, showToast } from "@/components/ui/toast";
import { imposeControl, useLiftControl } from "@/lib/order/controls/controls.browser";
import type { ControlOut, ControlRequest } from "@/lib/order/controls/controls.shapes";
import { plural } from "@/lib/platform/plain/format.pure";
import { isOfEverySource, SCOPE_LABEL, scopeLimits, scopeOf } from "./scope-words";

const LIFTED: Record<ControlOut["kind"], string> = {
  blacklist: "What it caught may be redriven again. Nothing is redriven by lifting it.",
  cooldown: "What it caught need not wait any longer. Nothing is redriven by lifting it.",
  whitelist: "What it let through waits for its cooldown again.",
};

/** Undoes a lift: imposes a new control of the same kind, scope, reason and end, by the person who undoes. */
async function imposeAgain(client: QueryClient, { kind, scope, reason, expiresAt }: ControlOut): Promise<void> {
  try {
    await imposeControl(client, { kind, scope: scope as ControlRequest["scope"], reason, expiresAt });
    void showToast({ title: `The ${kind} is in force again`, tone: "success" });
  } catch (error) {
    failureToast("The lift could not be undone", error);
  }
}

export function LiftDialog({ control, onClose }: { control: ControlOut; onClose: () => void }) {
  const client = useQueryClient();
  const lift = useLiftControl();
  const scope = scopeOf(control.scope);
  return (
    <ReasonDialog
      needs="control"
      everySource={isOfEverySource(control.scope)}
      title={`Lift this ${control.kind}?`}
      description={LIFTED[control.kind]}
      size="sm"
      verb="Lift"
      keep="Keep it"
      onClose={onClose}
      onSubmit={async (reason) => {
        await lift.mutateAsync({ id: control.id, reason });
        return {
          title: `Lifted the ${control.kind}`,
          tone: "success",
          action: { label: "Undo", onSelect: () => void imposeAgain(client, control) },
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
          <span className="text-muted"> · {plural(control.catches, "event")} caught now</span>
        )}
      </p>
    </ReasonDialog>
  );
}
