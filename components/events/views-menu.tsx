"use client";

import { useState } from "react";
import { lazily } from "@/components/ui/lazily";
import type { MenuEntry } from "@/components/ui/menu";
import { MenuButton } from "@/components/ui/menu-button";
import { isEmptyFilter } from "@/lib/browser/qualified-search";
import { isSameFilter, useSavedViews } from "@/lib/browser/views";
import type { EventFilter } from "@/lib/contract/event-filter";

const ViewsDialog = lazily(() => import("./views-dialog").then(({ ViewsDialog }) => ViewsDialog));

/** Named filters: choose one, or keep the present one under a name. */
export function ViewsMenu({ filter, onFilter }: { filter: EventFilter; onFilter: (next: EventFilter) => void }) {
  const { data } = useSavedViews();
  const [managing, setManaging] = useState(false);
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
  entries.push({
    id: "manage",
    label: isEmptyFilter(filter) ? "Manage views…" : "Save this filter…",
    disabled: isEmptyFilter(filter) && views.length === 0,
    onSelect: () => setManaging(true),
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
        align="end"
        entries={entries}
      />
      {managing ? <ViewsDialog filter={filter} onClose={() => setManaging(false)} /> : null}
    </>
  );
}
