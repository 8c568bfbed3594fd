"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { failureToast, showToast } from "@/components/ui/toast";
import { restoreArchived } from "@/lib/keep/archive/archive.browser";
import type { ArchivedEvent } from "@/lib/keep/archive/archive.shapes";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { restoredText } from "./archive-words";

/** Of the filter of the events list. */
const LINKED_MAX = 100;

export type Refused = { id: string; eventId: string; detail: string };

/** Restores archived events and shows the result in a toast, with the way to the events. `refused`: of the last restore. */
export function useRestore() {
  const client = useQueryClient();
  const router = useRouter();
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refused[]>([]);
  /** Whether it was done. */
  const restore = async (events: readonly ArchivedEvent[]): Promise<boolean> => {
    if (busy || events.length === 0) return false;
    setBusy(true);
    try {
      const ids = events.map(({ id }) => id);
      const answer = await restoreArchived(client, ids);
      const why = new Map(answer.refused.map(({ id, detail }) => [id, detail]));
      setRefused(events.flatMap(({ id, eventId }) => (why.has(id) ? [{ id, eventId, detail: why.get(id)! }] : [])));
      const href = hrefOf(events.filter(({ id }) => !why.has(id)));
      void showToast({
        ...restoredText(answer),
        tone: answer.refused.length > 0 ? "error" : answer.restored > 0 ? "success" : "neutral",
        ...(href === null ? {} : { action: { label: "Show", onSelect: () => router.push(href) } }),
      });
      return true;
    } catch (error) {
      failureToast("Restore failed", error);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { restore, busy, refused, forgetRefused: () => setRefused([]) };
}

/** The address that shows these events; null = the filter of the list cannot name so many, or there is none. */
function hrefOf(events: readonly ArchivedEvent[]): string | null {
  const [first] = events;
  if (first === undefined || events.length > LINKED_MAX) return null;
  return eventsHref({
    eventId: [...new Set(events.map(({ eventId }) => eventId))],
    source: [...new Set(events.map(({ source }) => source))],
  });
}
