"use client";

import { useQueryClient } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { FilterWords } from "@/components/events/filter-words";
import { Button, IconButton } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { TextField } from "@/components/ui/input";
import { useSubmit } from "@/components/ui/use-submit";
import { deleteView, saveView, useSavedViews } from "@/lib/events/views/views.browser";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { isEmptyFilter, termsOf } from "@/lib/selection/filter/qualified-search.browser";

function FilterText({ filter }: { filter: EventFilter }) {
  const window = (["from", "to"] as const).flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : [{ name, value }];
  });
  return <FilterWords terms={[...termsOf(filter), ...window]} />;
}

export function ViewsDialog({ filter, onClose }: { filter: EventFilter; onClose: () => void }) {
  const client = useQueryClient();
  const { data } = useSavedViews();
  const [name, setName] = useState("");
  const { busy, error, submit } = useSubmit(onClose);
  const views = data?.items ?? [];
  const savable = !isEmptyFilter(filter);

  const save = () =>
    submit(async () => {
      await saveView(client, name.trim(), filter);
      return { title: `Saved as ${name.trim()}`, tone: "success" };
    });
  const remove = (id: string) =>
    submit(async () => {
      await deleteView(client, id);
      return "stay";
    });

  return (
    <Dialog title={savable ? "Save this filter" : "Saved views"} size="sm" onClose={onClose}>
      <div className="flex flex-col gap-4">
        {savable ? (
          <form
            className="flex flex-col gap-3"
            onSubmit={(event) => {
              event.preventDefault();
              if (name.trim() !== "") void save();
            }}
          >
            <p className="font-mono text-sm wrap-anywhere text-muted">
              <FilterText filter={filter} />
            </p>
            <TextField
              label="Name"
              hint="Visible to everyone who uses this console."
              value={name}
              maxLength={100}
              onValue={setName}
            />
            <Button
              needs="change-view"
              type="submit"
              variant="primary"
              className="self-end"
              busy={busy}
              disabled={name.trim() === ""}
            >
              Save
            </Button>
          </form>
        ) : null}
        {error ? <ErrorPanel error={error} inline /> : null}
        {views.length > 0 ? (
          <section>
            <h3 className="mb-1 text-sm font-medium text-faint">Saved</h3>
            <ul>
              {views.map((view) => (
                <li key={view.id} className="flex min-h-8 items-center gap-2 border-b border-line py-1">
                  <div className="min-w-0 flex-1">
                    <p className="truncate">{view.name}</p>
                    <p className="truncate font-mono text-xs text-faint">
                      <FilterText filter={view.filter} />
                    </p>
                  </div>
                  <IconButton
                    needs="change-view"
                    label={`Delete ${view.name}`}
                    size="sm"
                    disabled={busy}
                    onClick={() => void remove(view.id)}
                  >
                    <Trash2 size={13} aria-hidden />
                  </IconButton>
                </li>
              ))}
            </ul>
          </section>
        ) : null}
      </div>
    </Dialog>
  );
}
