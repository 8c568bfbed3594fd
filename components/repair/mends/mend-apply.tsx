"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { mustType } from "@/components/events/bulk/bulk-words";
import { ApprovalNotice } from "@/components/guard/approvals/approval-notice";
import { TellField } from "@/components/redrive/channel-choice";
import { idempotencyKeys } from "@/components/redrive/idempotency-keys";
import { ActionButton } from "@/components/ui/action-button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Checkbox, TextField } from "@/components/ui/input";
import { ReasonField } from "@/components/ui/reason-field";
import { followedOperations } from "@/lib/events/bulk/bulk-operations.browser";
import { type ApprovalCause, approvalCauses } from "@/lib/guard/approvals/approval.pure";
import { useSettings } from "@/lib/guard/settings/settings.browser";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { type Counting, startMend } from "@/lib/repair/mends/mends.browser";
import type { Recipe } from "@/lib/selection/operations/recipe.shapes";
import { pinSelection } from "@/lib/selection/pin-selection.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";
import { useSources } from "@/lib/sources/sources.browser";

/** Why a second person must approve the mend, decided as the server decides it. */
function useApprovalCauses(events: number, names: readonly string[]): ApprovalCause[] {
  const above = Number(useSettings().data?.items.find(({ name }) => name === "approvalAbove")?.value ?? 0);
  const marked =
    useSources().data?.items.filter(({ name, needsApproval }) => needsApproval && names.includes(name)) ?? [];
  return approvalCauses({ events, above, sources: marked.map(({ name }) => name), targets: [] });
}

/** The start of the mend: what it would do, the reason, and the typed count of a large one. */
export function MendApply({
  selection,
  recipe,
  sources,
  counting: { counts },
  onStarted,
}: {
  selection: Selection;
  /** The known sources of the events. */
  sources: readonly string[];
  recipe: Recipe;
  counting: Counting;
  onStarted: (operationId: string) => void;
}) {
  const client = useQueryClient();
  const [keyFor] = useState(() => idempotencyKeys(randomKey));
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const [tell, setTell] = useState<string[]>([]);
  const [breaking, setBreaking] = useState(false);
  const [pressed, setPressed] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const exact = counts?.kind === "exact";
  const would = counts === null ? null : counts.changed + (breaking ? counts.breaksSchema : 0);
  const causes = useApprovalCauses(counts?.looked ?? 0, sources);
  const wanted = mustType(exact ? would : null);
  const confirmed = wanted === null || typed.replaceAll(/[\s,.]/g, "").toLowerCase() === wanted;
  const missing = reason.trim() === "";
  const apply = async () => {
    setPressed(true);
    if (missing) return field.current?.focus();
    if (!confirmed || busy) return;
    setBusy(true);
    setError(null);
    try {
      const select = pinSelection(selection, counts?.asOf ?? null);
      const body = { select, recipe, reason: reason.trim(), breaking, ...(tell.length > 0 ? { tell } : {}) };
      const answer = await startMend(client, body, keyFor(body));
      if (answer.id === null) return;
      followedOperations.follow(answer.id);
      onStarted(answer.id);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <form
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void apply();
      }}
    >
      {error ? <ErrorPanel error={error} inline title="Nothing was mended" /> : null}
      <p className="text-muted">
        Each event that changes gets a new revision; the payload that arrived is kept. The mend of an event can be
        undone until that event is sent.
      </p>
      {counts && counts.breaksSchema > 0 ? (
        // biome-ignore lint/a11y/noLabelWithoutControl: Checkbox is the control
        <label className="flex items-start gap-1.5">
          <Checkbox checked={breaking} onChange={(event) => setBreaking(event.target.checked)} className="mt-0.5" />
          Also mend the {formatNumber(counts.breaksSchema)} that would not match their schema
        </label>
      ) : null}
      <ReasonField
        ref={field}
        hint="Recorded in the audit log, with the recipe."
        missing={pressed && missing}
        value={reason}
        onChange={setReason}
      />
      {wanted === null ? null : <TellField tell={tell} onTell={setTell} />}
      {wanted === null ? null : (
        <TextField
          label={
            exact ? `Type ${formatNumber(would ?? 0)} to confirm` : "Type all to confirm: they are not all counted yet"
          }
          error={pressed && !confirmed ? "The number does not match." : undefined}
          value={typed}
          onValue={setTyped}
        />
      )}
      {would === 0 ? null : <ApprovalNotice causes={causes} done="changed" />}
      <ActionButton needs="edit" variant="primary" type="submit" busy={busy} disabled={exact && would === 0}>
        {exact
          ? would === 0
            ? "Nothing to mend"
            : `${causes.length > 0 ? "Request approval to mend" : "Mend"} ${plural(would ?? 0, "event")}`
          : "Mend all that change"}
      </ActionButton>
    </form>
  );
}
