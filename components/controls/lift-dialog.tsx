"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Field, Textarea } from "@/components/ui/input";
import { showToast } from "@/components/ui/toast";
import { useLiftControl } from "@/lib/browser/controls";
import { plural } from "@/lib/browser/format";
import type { ControlOut } from "@/lib/contract/controls";
import { SCOPE_LABEL, scopeOf } from "./scope-words";

const LIFTED: Record<ControlOut["kind"], string> = {
  blacklist: "What it caught may be redriven again. Nothing is redriven by lifting it.",
  cooldown: "What it caught need not wait any longer. Nothing is redriven by lifting it.",
  whitelist: "What it let through waits for its cooldown again.",
};

export function LiftDialog({ control, onClose }: { control: ControlOut; onClose: () => void }) {
  const lift = useLiftControl();
  const [reason, setReason] = useState("");
  const [pressed, setPressed] = useState(false);
  const scope = scopeOf(control.scope);
  const missing = reason.trim() === "";
  const submit = async () => {
    setPressed(true);
    if (missing) return;
    try {
      await lift.mutateAsync({ id: control.id, reason: reason.trim() });
    } catch {
      return; // shown from lift.error
    }
    onClose();
    void showToast({ title: `Lifted the ${control.kind}`, tone: "success" });
  };
  return (
    <Dialog
      title={`Lift this ${control.kind}?`}
      description={LIFTED[control.kind]}
      size="sm"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button variant="primary" busy={lift.isPending} onClick={submit}>
            Lift
          </Button>
        </>
      }
    >
      <div className="grid gap-3">
        {lift.isError ? <ErrorPanel error={lift.error} inline title="This was not done" /> : null}
        <p className="wrap-anywhere">
          {scope ? (
            <>
              <span className="text-muted">{SCOPE_LABEL[scope.name]}</span>{" "}
              <span className="font-mono text-sm">{scope.value}</span>
            </>
          ) : null}
          {control.catches === null ? null : (
            <span className="text-muted"> · {plural(control.catches, "event")} caught now</span>
          )}
        </p>
        <Field label="Reason" error={pressed && missing ? "Say why: the reason is kept in the audit." : undefined}>
          {(field) => (
            <Textarea
              {...field}
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
