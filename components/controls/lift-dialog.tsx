"use client";

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Field, Textarea } from "@/components/ui/input";
import { failureToast, showToast } from "@/components/ui/toast";
import { useLiftControl } from "@/lib/browser/controls";
import { fetchJson } from "@/lib/browser/fetch-json";
import { plural } from "@/lib/browser/format";
import { invalidateAfter } from "@/lib/browser/keys";
import type { ControlOut } from "@/lib/contract/controls";
import { SCOPE_LABEL, scopeLimits, scopeOf } from "./scope-words";

const LIFTED: Record<ControlOut["kind"], string> = {
  blacklist: "What it caught may be redriven again. Nothing is redriven by lifting it.",
  cooldown: "What it caught need not wait any longer. Nothing is redriven by lifting it.",
  whitelist: "What it let through waits for its cooldown again.",
};

/** Takes a lift back: a control of the same kind, scope, reason and end. It is a new one, by the person who undid it. */
async function imposeAgain(client: QueryClient, { kind, scope, reason, expiresAt }: ControlOut): Promise<void> {
  try {
    await fetchJson("/api/v1/controls", { method: "POST", body: { kind, scope, reason, expiresAt } });
    void showToast({ title: `The ${kind} is in force again`, tone: "success" });
  } catch (error) {
    failureToast("The lift could not be undone", error);
  } finally {
    await invalidateAfter(client, "controls");
  }
}

export function LiftDialog({ control, onClose }: { control: ControlOut; onClose: () => void }) {
  const client = useQueryClient();
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
    void showToast({
      title: `Lifted the ${control.kind}`,
      tone: "success",
      action: { label: "Undo", onSelect: () => void imposeAgain(client, control) },
    });
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
          <ActionButton variant="primary" busy={lift.isPending} onClick={submit}>
            Lift
          </ActionButton>
        </>
      }
    >
      <div className="grid gap-3">
        {lift.isError ? <ErrorPanel error={lift.error} inline title="This was not done" /> : null}
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
