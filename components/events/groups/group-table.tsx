"use client";

import { classNames } from "@/components/ui/class-names";
import { SelectAll } from "@/components/ui/table";
import { useGridFocus } from "@/components/ui/use-grid-focus";
import type { GroupOut } from "@/lib/events/events.shapes";
import type { GroupSort } from "@/lib/events/groups/groups.shapes";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { isPicked, type Picked } from "@/lib/selection/selection.browser";
import { type GroupAction, GroupRow, groupDomId } from "./group-row";
import styles from "./group-table.module.css";

const COLUMNS: readonly { name: string; sort?: GroupSort; label: string; end?: boolean; tip?: string }[] = [
  { name: "rise", label: "vs usual", tip: "Arrivals in the window, compared with the same hours of the previous days" },
  { name: "group", label: "code and message" },
  { name: "source", label: "source" },
  { name: "count", sort: "count", label: "parked", end: true },
  { name: "trend", label: "24 h", tip: "Arrivals by the hour" },
  { name: "since", label: "since", tip: "For rising groups: when the rise began; for all others: first seen" },
  { name: "last", sort: "last", label: "last" },
];

type GroupTableProps = {
  groups: readonly GroupOut[];
  filter: EventFilter;
  picked: Picked;
  activeId: string | null;
  sort: GroupSort;
  onSort: (next: GroupSort) => void;
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
      ref={useGridFocus(activeId)}
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

/** The page of a group shows all that are parked, whatever the window. */
const IN_WINDOW = { label: "in window", tip: "Parked events of the time window; a group can have more" };

function HeadRow({ groups, filter, picked, sort: sortedBy, onSort, onToggleLoaded }: GroupTableProps) {
  const windowed = filter.from !== undefined || filter.to !== undefined;
  const some = picked.kind !== "none";
  const every = picked.kind === "ids" && picked.ids.size >= groups.length;
  return (
    <thead className={classNames(styles.head, "sticky top-0 z-10 block bg-surface")}>
      <tr aria-rowindex={1} className={classNames(styles.line, "h-8 border-b border-line text-sm text-faint")}>
        <th className={styles.select}>
          <SelectAll some={some} every={every} label="Select all loaded groups" onChange={onToggleLoaded} />
        </th>
        {COLUMNS.map((column) => {
          const { name, sort, end } = column;
          const { label: words, tip } = windowed && name === "count" ? IN_WINDOW : column;
          const on = sort !== undefined && sort === sortedBy;
          return (
            <th
              key={name}
              aria-sort={on ? "descending" : undefined}
              className={classNames(styles[name], "truncate font-medium", end && "text-right")}
              data-tip={tip}
            >
              {sort === undefined ? (
                words
              ) : (
                <button
                  type="button"
                  className={classNames("h-6 hover:text-ink", on && "text-ink")}
                  onClick={() => onSort(sort)}
                >
                  {words}
                  {on ? <span aria-hidden> ↓</span> : null}
                </button>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
