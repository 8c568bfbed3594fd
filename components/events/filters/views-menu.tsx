"use client";

import { useState } from "react";
import { lazily } from "@/components/ui/lazily";
import type { MenuEntry } from "@/components/ui/menu";
import { MenuButton } from "@/components/ui/popup-button";
import { isSameFilter, useSavedViews } from "@/lib/events/views/views.browser";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { isEmptyFilter } from "@/lib/selection/filter/qualified-search.browser";

const ViewsDialog = lazily(() => import("./views-dialog"), "ViewsDialog");

export function ViewsMenu({ filter, onFilter }: { filter: EventFilter; onFilter: (next: EventFilter) => void }) {
  const { data } = useSavedViews();
  const [managing, setManaging] = useState<"save" | "manage" | null>(null);
  const views = data?.items ?? [];
  const current = views.find((view) => isSameFilter(view.filter, filter));
  const entries: MenuEntry[] = views.map((view) => ({
    kind: "choice",
    id: view.id,
    label: view.name,
    checked: view === current,
    onSelect: () => onFilter(view.filter),
  }));
  if (views.length > 0) entries.push({ kind: "separator", id: "separator" });
  // An empty filter and an already saved filter are not offered.
  const savable = !isEmptyFilter(filter) && current === undefined;
  if (savable)
    entries.push({ id: "save", label: "Save this filter…", needs: "change-view", onSelect: () => setManaging("save") });
  entries.push({
    id: "manage",
    label: "Manage views…",
    needs: "change-view",
    disabled: views.length === 0,
    onSelect: () => setManaging("manage"),
  });
  return (
    <>
      <MenuButton
        name="Saved views"
        label={
          <>
            <span className="max-w-40 truncate">{current?.name ?? "Views"}</span> <span aria-hidden>▾</span>
          </>
        }
        variant="ghost"
        size="sm"
        entries={entries}
      />
      {managing ? <ViewsDialog filter={managing === "save" ? filter : {}} onClose={() => setManaging(null)} /> : null}
    </>
  );
}
