"use client";

import { ActionButton } from "@/components/ui/action-button";
import { countText } from "@/components/ui/count-text";
import type { CountOut } from "@/lib/events/events.shapes";
import type { Picked } from "@/lib/events/selection/selection.browser";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { BulkAction } from "./bulk-action";

const NONE_PENDING = "None of them is PENDING: there is nothing to redrive";

/** The actions on the selection. The bar appears with the first selected event and does not move. */
export function BulkBar({
  picked,
  total,
  someIgnored,
  nonePending,
  noneOpen,
  onAll,
  onClear,
  onAction,
  onRedrive,
  onMend,
  sending,
}: {
  picked: Exclude<Picked, { kind: "none" }>;
  total: CountOut | undefined;
  /** Some selected events may be ignored: the bar offers Release. */
  someIgnored: boolean;
  /** Certainly no selected event is PENDING: a redrive would send nothing. */
  nonePending: boolean;
  /** Certainly no selected event is PENDING or QUEUED: an ignore would change nothing. */
  noneOpen: boolean;
  onAll: () => void;
  onClear: () => void;
  onAction: (action: BulkAction) => void;
  /** Redrives the selection at once, with the defaults. */
  onRedrive: () => void;
  onMend: () => void;
  sending: boolean;
}) {
  const all = picked.kind === "all";
  const matching = total && total.value !== null ? `${countText(total)} matching` : "matching";
  return (
    <section
      aria-label="Selection"
      className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1.5 border-t border-line-strong bg-raised px-3 py-1.5"
    >
      <p aria-live="polite" className="whitespace-nowrap">
        <span className="font-medium">
          {all ? `All ${matching} selected` : `${formatNumber(picked.ids.size)} selected`}
        </span>
        {all || picked.ids.size === total?.value ? null : (
          <>
            <span className="text-faint"> · </span>
            <button type="button" onClick={onAll} className="text-accent hover:underline">
              select all {matching}
            </button>
          </>
        )}
        <span className="text-faint"> · </span>
        <button type="button" onClick={onClear} data-tip="Esc" className="text-muted hover:underline">
          clear
        </button>
      </p>
      <div className="ml-auto flex flex-wrap items-center gap-1.5">
        <ActionButton size="sm" onClick={() => onAction("verify")} data-tip="Dry run only, nothing is sent  v">
          Verify
        </ActionButton>
        <ActionButton
          size="sm"
          variant="primary"
          aria-disabled={nonePending}
          busy={sending}
          className="aria-disabled:pointer-events-auto"
          onClick={() => (nonePending ? undefined : onRedrive())}
          data-tip={
            nonePending
              ? NONE_PENDING
              : "Slow lane, canary above ten events, brake; sent after 5 s, with Undo until then"
          }
        >
          {all ? `Redrive all ${matching}` : `Redrive ${plural(picked.ids.size, "event")}`}
        </ActionButton>
        <ActionButton
          size="sm"
          aria-disabled={nonePending}
          className="aria-disabled:pointer-events-auto"
          onClick={() => (nonePending ? undefined : onAction("redrive"))}
          data-tip={nonePending ? NONE_PENDING : "Preview first; lane, rate, canary and more  r"}
        >
          Redrive…
        </ActionButton>
        <ActionButton
          size="sm"
          onClick={onMend}
          data-tip="Change their payloads by a recipe, then verify and redrive  m"
        >
          Mend…
        </ActionButton>
        <ActionButton
          size="sm"
          aria-disabled={noneOpen}
          className="aria-disabled:pointer-events-auto"
          onClick={() => (noneOpen ? undefined : onAction("ignore"))}
          data-tip={noneOpen ? "None of them is PENDING or QUEUED: there is nothing to ignore" : "i"}
        >
          Ignore…
        </ActionButton>
        {someIgnored ? (
          <ActionButton size="sm" onClick={() => onAction("release")}>
            Release…
          </ActionButton>
        ) : null}
        <ActionButton
          size="sm"
          onClick={() => onAction("confirm")}
          data-tip="Mark them as processed by their consumers; nothing is sent"
        >
          Confirm…
        </ActionButton>
        <ActionButton size="sm" onClick={() => onAction("cooldown")}>
          Cooldown…
        </ActionButton>
        <ActionButton size="sm" onClick={() => onAction("blacklist")}>
          Blacklist…
        </ActionButton>
      </div>
    </section>
  );
}
