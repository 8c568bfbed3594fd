"use client";

import { whyNotRedrive } from "@/components/events/action-rules";
import { lazily } from "@/components/ui/lazily";
import type { ListedEvent } from "@/lib/events/events.shapes";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { NOTHING, type Picked, pickedCount, selectionOf } from "@/lib/selection/selection.browser";
import { type BulkAction, commonScope } from "./bulk-action";
import type { ListActions } from "./use-list-actions";

const RedriveDialog = lazily(() => import("@/components/redrive/dialog/redrive-dialog"), "RedriveDialog");
const ControlDialog = lazily(() => import("@/components/order/controls/control-dialog"), "ControlDialog");
const RedriveConfirm = lazily(() => import("@/components/events/redrive-confirm"), "RedriveConfirm");
const BulkDialog = lazily(() => import("@/components/events/bulk/bulk-dialog"), "BulkDialog");
const RemoveDialog = lazily(() => import("@/components/keep/removal/remove-dialog"), "RemoveDialog");

type Selected = {
  picked: Picked;
  filter: EventFilter;
  events: ListedEvent[];
  /** How many match, and when that was counted. */
  total: number | null;
  asOf: string | null;
};

/** The dialog of the action that is asked for; none when none is. */
export function ListDialogs(props: Selected & { actions: ListActions; setPicked: (picked: Picked) => void }) {
  const { actions, setPicked, ...selected } = props;
  const { action, confirming, heldId } = actions;
  return (
    <>
      {action ? (
        <ActionDialog
          {...selected}
          action={action}
          onClose={() => actions.setAction(null)}
          // The same action over "all matching" would otherwise act on the events that match next.
          onDone={() => setPicked(NOTHING)}
          onUndone={() => setPicked(selected.picked)}
        />
      ) : null}
      {heldId === null ? null : (
        <RedriveDialog selection={{ ids: [heldId] }} total={1} onClose={() => actions.setHeldId(null)} />
      )}
      {confirming ? (
        <RedriveConfirm
          event={confirming}
          refusal={whyNotRedrive(confirming, Date.now())}
          onConfirm={() => actions.sendOne(confirming, "deliver")}
          onClose={() => actions.setConfirming(null)}
        />
      ) : null}
    </>
  );
}

function ActionDialog(
  props: Selected & { action: BulkAction; onClose: () => void; onDone: () => void; onUndone: () => void },
) {
  const { action, picked, filter, events, total, asOf, onUndone, ...dialog } = props;
  if (action === "cooldown" || action === "blacklist") {
    const scope = commonScope(picked, filter, events) ?? undefined;
    return <ControlDialog {...dialog} kind={action} scope={scope} selected={pickedCount(picked, total)} />;
  }
  const selection = selectionOf(picked, filter);
  if (!selection) return null;
  const selected = { ...dialog, selection, total: pickedCount(picked, total) };
  if (action === "remove") return <RemoveDialog {...selected} />;
  return action === "redrive" || action === "verify" ? (
    <RedriveDialog {...selected} onUndone={onUndone} initialMode={action === "verify" ? "verify" : "deliver"} />
  ) : (
    <BulkDialog {...selected} asOf={asOf} kind={action} />
  );
}
