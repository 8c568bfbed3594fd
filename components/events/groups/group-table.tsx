"use client";

import { classNames } from "@/components/ui/class-names";
import type { GroupOut } from "@/lib/events/events.shapes";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { firstOrder, type GroupSort, type SortOrder } from "@/lib/events/groups/group-order.pure";
import { isPicked, type Picked } from "@/lib/events/selection/selection.browser";
import { type GroupAction, GroupRow, groupDomId } from "./group-row";
import styles from "./group-table.module.css";

const COLUMNS: readonly { name: string; sort: GroupSort | null; label: string; end?: boolean; tip?: string }[] = [
  {
    name: "rise",
    sort: "rise",
    label: "against usual",
    tip: "Arrivals in the window against the same hours of the days before",
  },
  { name: "group", sort: "code", label: "code and message" },
  { name: "source", sort: "source", label: "source" },
  { name: "count", sort: "count", label: "parked", end: true },
  { name: "trend", sort: null, label: "24 h", tip: "Arrivals by the hour" },
  {
    name: "since",
    sort: "since",
    label: "since",
    tip: "Of what rises: when the rise began; of the others: first seen",
  },
  { name: "last", sort: "last", label: "last" },
];

export type GroupOrder = { sort: GroupSort; order: SortOrder };

export type GroupTableProps = {
  groups: readonly GroupOut[];
  filter: EventFilter;
  picked: Picked;
  activeId: string | null;
  ordered: GroupOrder;
  onOrder: (next: GroupOrder) => void;
  onToggle: (fingerprint: string, range: boolean) => void;
  onToggleLoaded: () => void;
  onOpen: (fingerprint: string) => void;
  onAct: (action: GroupAction, group: GroupOut) => void;
};

/** The groups, one row each. It is a grid with one focus, as the list of events. */
export function GroupTable(props: GroupTableProps) {
  const { groups, filter, picked, activeId, onToggle, onOpen, onAct } = props;
  return (
    <table
      // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a table with selectable rows is a grid
      role="grid"
      tabIndex={0}
      aria-label="Groups"
      aria-multiselectable
      aria-activedescendant={activeId === null ? undefined : groupDomId(activeId)}
      className={classNames(styles.frame, "block text-left", activeId === null ? "-outline-offset-2" : "outline-none")}
    >
      <HeadRow {...props} />
      <tbody className="block">
        {groups.map((group, index) => (
          <GroupRow
            key={group.fingerprint}
            group={group}
            filter={filter}
            index={index}
            selected={isPicked(picked, group.fingerprint)}
            active={group.fingerprint === activeId}
            onToggle={onToggle}
            onOpen={onOpen}
            onAct={onAct}
          />
        ))}
      </tbody>
    </table>
  );
}

function HeadRow({ groups, picked, ordered, onOrder, onToggleLoaded }: GroupTableProps) {
  const some = picked.kind !== "none";
  const every = picked.kind === "ids" && picked.ids.size >= groups.length;
  const label = some ? "Clear the selection" : "Select all loaded groups";
  return (
    <thead className={classNames(styles.head, "sticky top-0 z-10 block bg-surface")}>
      <tr aria-rowindex={1} className={classNames(styles.line, "h-8 border-b border-line text-sm text-faint")}>
        <th className={styles.select}>
          <label className="-m-2 flex size-9 items-center justify-center">
            <input
              type="checkbox"
              checked={every}
              ref={(box) => {
                if (box) box.indeterminate = some && !every;
              }}
              aria-label={label}
              data-tip={label}
              onChange={onToggleLoaded}
              className="size-3.5"
            />
          </label>
        </th>
        {COLUMNS.map(({ name, sort, label: words, end, tip }) => {
          const on = sort === ordered.sort;
          return (
            <th
              key={name}
              aria-sort={on ? (ordered.order === "asc" ? "ascending" : "descending") : undefined}
              className={classNames(styles[name], "truncate font-medium", end && "text-right")}
              data-tip={tip}
            >
              {sort === null ? (
                words
              ) : (
                <button
                  type="button"
                  className={classNames("h-6 hover:text-ink", on && "text-ink")}
                  onClick={() =>
                    onOrder({ sort, order: on ? (ordered.order === "asc" ? "desc" : "asc") : firstOrder(sort) })
                  }
                >
                  {words}
                  {on ? <span aria-hidden> {ordered.order === "asc" ? "↑" : "↓"}</span> : null}
                </button>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
