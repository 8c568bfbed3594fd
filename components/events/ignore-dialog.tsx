"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Field, Input, Textarea } from "@/components/ui/input";
import { fetchJson } from "@/lib/browser/fetch-json";
import { formatNumber, plural } from "@/lib/browser/format";
import { invalidateAfter } from "@/lib/browser/keys";
import type { BulkAnswer } from "@/lib/contract/events";
import type { Selection } from "@/lib/contract/selection";
import { mustType } from "./ignore-words";
import { sayMoved } from "./undo-move";

/** Ignores events, or releases ignored ones, with a reason. A large set is confirmed by typing its number. */
export function IgnoreDialog({
  kind,
  selection,
  total,
  onClose,
  onDone,
}: {
  kind: "ignore" | "release";
  selection: Selection;
  /** How many are selected; null when their number is not known. */
  total: number | null;
  onClose: () => void;
  onDone?: () => void;
}) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const verb = kind === "ignore" ? "Ignore" : "Release";
  const many = total === null ? "all matching events" : plural(total, "event");
  const wanted = mustType(total);
  const ready = reason.trim() !== "" && (wanted === null || typed.replaceAll(/[\s,.]/g, "") === wanted);

  const submit = async () => {
    if (!ready || busy) return;
    setBusy(true);
    setError(null);
    try {
      const answer = await fetchJson<BulkAnswer>(`/api/v1/events/${kind}`, {
        method: "POST",
        body: { select: selection, reason: reason.trim() },
      });
      sayMoved(client, kind, answer);
      await invalidateAfter(client, "events");
      onDone?.();
      onClose();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };

  return (
    <Dialog
      title={`${verb} ${many}`}
      description={consequence(kind, total === 1)}
      size="sm"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <ActionButton variant="primary" busy={busy} disabled={!ready} onClick={() => void submit()}>
            {verb} {many}
          </ActionButton>
        </>
      }
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Field label="Reason" hint="Kept in the audit for ever.">
          {(control) => (
            <Textarea
              {...control}
              rows={2}
              maxLength={2_000}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit();
              }}
            />
          )}
        </Field>
        {wanted === null ? null : (
          <Field label={total === null ? "Type all to confirm" : `Type ${formatNumber(total)} to confirm`}>
            {(control) => <Input {...control} value={typed} onChange={(event) => setTyped(event.target.value)} />}
          </Field>
        )}
        {error ? <ErrorPanel error={error} inline /> : null}
      </form>
    </Dialog>
  );
}

function consequence(kind: "ignore" | "release", one: boolean): string {
  if (kind === "ignore") {
    return one
      ? "It stays in the list as IGNORED and is not redriven until somebody releases it."
      : "They stay in the list as IGNORED and are not redriven until somebody releases them.";
  }
  return one ? "It becomes PENDING again and can be redriven." : "They become PENDING again and can be redriven.";
}
