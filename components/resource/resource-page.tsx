"use client";

import { type ComponentProps, type ReactNode, useState } from "react";
import { Button, type ButtonProps } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { itemsOf, ListState } from "@/components/ui/loaded";
import { PageHeader } from "@/components/ui/page-header";

/**
 * The page of things that people create and change. The dialog that does so belongs to the page: it stays open while the
 * list is read again, also when the first item replaces the empty page.
 */
export function ResourcePage<Item>(
  props: Pick<ComponentProps<typeof ListState<Item>>, "read" | "loading"> & {
    title: string;
    /** Beside the title, once the list was read. */
    meta: (items: readonly Item[]) => ReactNode;
    /** Before the button that creates an item. */
    actions?: ReactNode;
    needs: ButtonProps["needs"];
    /** The label of the button that creates an item. */
    add: string;
    /** While there is no item; null = the page says nothing. */
    empty: { title: string; text: ReactNode } | null;
    above?: ReactNode;
    children: (items: readonly Item[], edit: (item: Item) => void) => ReactNode;
    /** @param item null = a new one */
    dialog: (item: Item | null, onClose: () => void) => ReactNode;
  },
) {
  const { read, loading, title, meta, actions, needs, add, empty, above, children, dialog } = props;
  const items = itemsOf(read);
  const [editing, setEditing] = useState<{ item: Item | null } | null>(null);
  return (
    <>
      <PageHeader
        title={title}
        meta={read.data ? meta(items) : undefined}
        actions={
          <>
            {actions}
            <Button needs={needs} variant="primary" data-command={add} onClick={() => setEditing({ item: null })}>
              {add}
            </Button>
          </>
        }
      />
      {above}
      <ListState
        read={read}
        loading={loading}
        none={empty && <EmptyState title={empty.title}>{empty.text}</EmptyState>}
      />
      {items.length > 0 ? children(items, (item) => setEditing({ item })) : null}
      {editing ? dialog(editing.item, () => setEditing(null)) : null}
    </>
  );
}
