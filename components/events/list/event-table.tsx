"use client";

import { type RefObject, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { classNames } from "@/components/ui/class-names";
import { SkeletonRows } from "@/components/ui/skeleton";
import { SelectAll } from "@/components/ui/table";
import { useGridFocus } from "@/components/ui/use-grid-focus";
import type { EventSort } from "@/lib/events/list/event-sort.pure";
import { isPicked, type Picked } from "@/lib/selection/selection.browser";
import { EventRow, type RowActions, rowDomId } from "./event-row";
import styles from "./event-table.module.css";
import type { ListRow } from "./list-rows";
import { scrollTopFor, useRowWindow } from "./use-window";

const ROW_PX = 32;
/** In a narrow window the error has a line of its own. */
const TWO_LINES_PX = 52;
const CARD_PX = 84;
/** The next page is fetched this many rows before the end: about a screen and a half. */
const FETCH_AHEAD_ROWS = 40;

/** The assumed height of the window, for the rows that the server renders. */
const ASSUMED_PX = 900;

const COLUMNS = [
  ["state", "state"],
  ["seen", "first seen"],
  ["code", "error code"],
  ["source", "source"],
  ["type", "type"],
  ["aggregate", "aggregate"],
  ["event", "event"],
  ["tries", "tries"],
  ["error", "last error"],
] as const;

const SORT_TIP: Record<EventSort | "arrival", string> = {
  arrival: "Newest arrival first. Sort by the time of the last failure",
  failedNewest: "Newest failure first. Sort by the oldest failure",
  failedOldest: "Oldest failure first. Sort by arrival",
};

export type TableHandle = { scrollToRow: (index: number) => void; scrollToTop: () => void };

type EventTableProps = {
  rows: ListRow[];
  sort: EventSort | null;
  /** Called when the header of the time column is clicked. */
  onSort: () => void;
  picked: Picked;
  activeId: string | null;
  openId: string | null;
  /** The number of all matching events, for `aria-rowcount`; null = unknown. */
  total: number | null;
  /** No further row can be left out of all matching. */
  locked: boolean;
  actions: RowActions;
  hasMore: boolean;
  handle: RefObject<TableHandle | null>;
  onToggleLoaded: () => void;
  onNearEnd: () => void;
  onFirstVisible: (index: number) => void;
  /** The first scroll position, px: the position that the person left. */
  startAt: number;
  onScrolled: (scrollTop: number) => void;
};

/**
 * The list: rows of equal height, of which only those in view are rendered. It is a grid with one focus: the arrow keys
 * (or j, k) move the active row, space (or x) selects it.
 */
export function EventTable({
  rows,
  sort,
  onSort,
  picked,
  activeId,
  openId,
  total,
  locked,
  actions,
  hasMore,
  handle,
  onToggleLoaded,
  onNearEnd,
  onFirstVisible,
  startAt,
  onScrolled,
}: EventTableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const rowPx = useRowPx();
  const { first, start, end } = useRowWindow(scroller, { rowPx, rows: rows.length, assumedPx: ASSUMED_PX });

  useTableScroll({ scroller, handle, rows, startAt, openId, headPx: rowPx === CARD_PX ? 0 : ROW_PX, rowPx });
  useEffect(() => onFirstVisible(first), [first, onFirstVisible]);
  useEffect(() => {
    if (hasMore && end >= rows.length - FETCH_AHEAD_ROWS) onNearEnd();
  }, [hasMore, end, rows.length, onNearEnd]);

  const made = rows.slice(start, end);
  const activeShown = activeId !== null && made.some((row) => row.event.id === activeId);
  const grid = useGridFocus(activeShown ? activeId : null);
  const some = picked.kind !== "none";
  const every = picked.kind === "all" ? picked.except.size === 0 : some && picked.ids.size >= rows.length;
  return (
    <div
      ref={scroller}
      onScroll={(event) => onScrolled(event.currentTarget.scrollTop)}
      className={classNames(styles.scroller, "min-h-0 min-w-0 flex-1 overflow-x-hidden overflow-y-auto")}
    >
      <table
        ref={grid}
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a table with selectable rows is a grid
        role="grid"
        tabIndex={0}
        aria-label="Events"
        aria-multiselectable
        aria-rowcount={total === null ? -1 : total + 1}
        aria-activedescendant={activeShown ? rowDomId(activeId) : undefined}
        // The active row shows the focus; a frame around all rows would look like the edge of each.
        className={classNames("block min-h-full text-left", activeShown ? "outline-none" : "-outline-offset-2")}
      >
        <HeadRow {...{ some, every, sort, onSort, onToggleLoaded }} />
        <tbody className="relative block" style={{ height: rows.length * rowPx }}>
          {made.map((row, at) => {
            const { id } = row.event;
            const index = start + at;
            return (
              <EventRow
                key={id}
                row={row}
                byFailure={sort !== null}
                index={index}
                top={index * rowPx}
                height={rowPx}
                selected={isPicked(picked, id, row.event.eventId)}
                locked={locked}
                active={id === activeId}
                opened={id === openId}
                actions={actions}
              />
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Scrolls the table to its first position, and on the calls of `handle`. */
function useTableScroll(
  options: Pick<EventTableProps, "handle" | "rows" | "startAt" | "openId"> & {
    scroller: RefObject<HTMLDivElement | null>;
    headPx: number;
    rowPx: number;
  },
) {
  const { scroller, handle, rows, startAt, openId, headPx, rowPx } = options;
  useLayoutEffect(() => {
    handle.current = {
      scrollToRow: (index) => {
        const element = scroller.current;
        if (!element) return;
        const { scrollTop, clientHeight } = element;
        const to = scrollTopFor(index, { scrollTop, viewPx: clientHeight, headPx, rowPx });
        if (to !== null) element.scrollTop = to;
      },
      scrollToTop: () => scroller.current?.scrollTo({ top: 0 }),
    };
    return () => {
      handle.current = null;
    };
  }, [scroller, handle, headPx, rowPx]);

  const [beginAt] = useState(startAt);
  useLayoutEffect(() => {
    if (beginAt > 0) scroller.current?.scrollTo({ top: beginAt });
  }, [scroller, beginAt]);
  // On return to the list the row that was open may lie far down.
  const beginId = useRef(openId);
  useLayoutEffect(() => {
    const at = beginId.current === null ? -1 : rows.findIndex(({ event }) => event.id === beginId.current);
    beginId.current = null;
    if (at !== -1) handle.current?.scrollToRow(at);
  }, [rows, handle]);
}

function HeadRow(
  props: { some: boolean; every: boolean } & Pick<EventTableProps, "sort" | "onSort" | "onToggleLoaded">,
) {
  const { some, every, sort, onSort, onToggleLoaded } = props;
  return (
    <thead className={classNames(styles.head, "sticky top-0 z-10 block bg-surface")}>
      <tr aria-rowindex={1} className={classNames(styles.line, "h-8 border-b border-line text-sm text-faint")}>
        <th className={styles.select}>
          <SelectAll some={some} every={every} label="Select all loaded events" onChange={onToggleLoaded} />
        </th>
        {COLUMNS.map(([name, label]) =>
          name === "seen" ? (
            <th
              key={name}
              aria-sort={sort === "failedOldest" ? "ascending" : "descending"}
              className={classNames(styles.seen, "truncate font-medium")}
              data-tip={SORT_TIP[sort ?? "arrival"]}
            >
              <button type="button" className={classNames("h-6 hover:text-ink", sort && "text-ink")} onClick={onSort}>
                {sort === null ? label : "last failed"}
                <span aria-hidden> {sort === "failedOldest" ? "↑" : "↓"}</span>
              </button>
            </th>
          ) : (
            <th key={name} className={classNames(styles[name], "truncate font-medium")}>
              {label}
            </th>
          ),
        )}
      </tr>
    </thead>
  );
}

export function ListSkeleton() {
  return (
    <div className="min-h-0 flex-1 overflow-hidden pt-8">
      <SkeletonRows
        rows={48}
        columns={[
          "w-5",
          "w-32",
          "w-16",
          "w-40",
          "hidden w-40 lg:block",
          "w-36",
          "hidden w-28 lg:block",
          "w-14",
          "hidden flex-1 md:block",
        ]}
      />
    </div>
  );
}

/** The theme's `sm`: below this width the rows of the table are cards. */
const PHONE = "(width < 641px)";
/** As in the style sheet: the error has a line of its own. */
const NARROW = "(width < 1000px)";

function onWidthChange(listener: () => void) {
  const queries = [PHONE, NARROW].map((query) => window.matchMedia(query));
  for (const media of queries) media.addEventListener("change", listener);
  return () => {
    for (const media of queries) media.removeEventListener("change", listener);
  };
}

function useRowPx(): number {
  const matches = (query: string) => window.matchMedia(query).matches;
  return useSyncExternalStore(
    onWidthChange,
    () => (matches(PHONE) ? CARD_PX : matches(NARROW) ? TWO_LINES_PX : ROW_PX),
    () => ROW_PX,
  );
}
