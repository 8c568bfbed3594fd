"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { mendHref } from "@/components/repair/mends/mend-address";
import { loadAtTouch, loadChunk } from "@/components/ui/load-chunk";
import { showToast } from "@/components/ui/toast";
import type { ListedEvent } from "@/lib/events/events.shapes";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { filterHref } from "@/lib/selection/filter/filter-read.browser";
import { isEmptyFilter } from "@/lib/selection/filter/qualified-search.browser";
import { NOTHING, selectionOf, toggle } from "@/lib/selection/selection.browser";
import type { BulkAction } from "./bulk-action";
import type { useListCursor } from "./use-list-cursor";
import type { useListSelection } from "./use-list-selection";

const loadOneClick = () => import("@/components/redrive/one-click/one-click");
loadAtTouch(loadOneClick);

export type ListActions = ReturnType<typeof useListActions>;

/**
 * What is done to the selection, or to the active event where nothing is selected. `exactTotal`: how many events match, when
 * that is counted exactly.
 */
export function useListActions({
  filter,
  events,
  exactTotal,
  cursor: { listedId, leave },
  selection: { picked, setPicked },
}: {
  filter: EventFilter;
  events: readonly ListedEvent[];
  exactTotal: number | null;
  cursor: ReturnType<typeof useListCursor>;
  selection: ReturnType<typeof useListSelection>;
}) {
  const client = useQueryClient();
  const router = useRouter();
  const [action, setAction] = useState<BulkAction | null>(null);
  const [sending, setSending] = useState(false);
  const [confirming, setConfirming] = useState<ListedEvent | null>(null);
  /** An event whose redrive waits for a decision about the earlier versions of its aggregate. */
  const [heldId, setHeldId] = useState<string | null>(null);
  const activeEvent = events.find(({ id }) => id === listedId);

  const sendOne = (event: ListedEvent, mode: "deliver" | "verify") => {
    void loadChunk(loadOneClick).then(({ redriveOne }) =>
      redriveOne(client, event, mode, router.push, () => setHeldId(event.id)),
    );
  };

  /** The selection goes with the click, and comes back with Undo. */
  const redriveSelected = async () => {
    const selected = selectionOf(picked, filter);
    if (selected === null || sending) return;
    const count = picked.kind === "ids" ? picked.ids.size : exactTotal;
    if (count === null) return setAction("redrive");
    setSending(true);
    try {
      const { redriveAtOnce } = await loadChunk(loadOneClick);
      const started = await redriveAtOnce(client, selected, count, {
        open: (href) => router.push(href),
        onAsk: () => setAction("redrive"),
        onUndone: () => setPicked(picked),
      });
      if (started) setPicked(NOTHING);
    } finally {
      setSending(false);
    }
  };

  const actOn = (wanted: BulkAction) => {
    if (picked.kind === "none") {
      if (!activeEvent) return;
      if (wanted === "redrive") return setConfirming(activeEvent);
      if (wanted === "verify") return sendOne(activeEvent, "verify");
      setPicked(toggle(NOTHING, activeEvent.id));
    }
    setAction(wanted);
  };

  /** Mends the selection, or all events of the filter. The mend page has its own preview. */
  const mend = () => {
    const matching = isEmptyFilter(filter) ? null : { filter };
    const selected = picked.kind === "none" ? matching : selectionOf(picked, filter);
    if (selected === null)
      return void showToast({ title: "Nothing is selected", detail: "Select events, or filter the list." });
    leave(mendHref(selected, randomKey));
  };

  const edit = () => {
    if (listedId === null) return;
    const href = filterHref(`/events/${listedId}`, filter);
    leave(`${href}${href.includes("?") ? "&" : "?"}edit=1`);
  };

  return {
    action,
    setAction,
    sending,
    confirming,
    setConfirming,
    heldId,
    setHeldId,
    sendOne,
    redriveSelected,
    actOn,
    ignoreOrRelease: () => actOn(picked.kind === "none" && activeEvent?.status === "IGNORED" ? "release" : "ignore"),
    mend,
    edit,
  };
}
