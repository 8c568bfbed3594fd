"use client";

import { useMemo } from "react";
import { FilterBar } from "@/components/events/filters/filter-bar";
import { ArchivedLine } from "@/components/keep/archive/archived-line";
import { Button, LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel, useIsInBand } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { type InitialList, useEventCounts } from "@/lib/events/events.browser";
import { type EventSort, eventSortOf, sortAfter } from "@/lib/events/list/event-sort.pure";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { useHotkeys } from "@/lib/platform/browser/hotkeys.browser";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { listQuery } from "@/lib/selection/filter/filter-read.browser";
import { useEventFilter, usePageParam } from "@/lib/selection/filter/filter-url.browser";
import { isEmptyFilter } from "@/lib/selection/filter/qualified-search.browser";
import { isExceptFull, pickedFilter } from "@/lib/selection/selection.browser";
import { BulkBar } from "./bulk-bar";
import { CountsLine } from "./counts-line";
import { EventTable, ListSkeleton } from "./event-table";
import { ListDialogs } from "./list-dialogs";
import { MeaningsLine } from "./meanings-line";
import { useEventRows } from "./use-event-rows";
import { type ListActions, useListActions } from "./use-list-actions";
import { useListCursor } from "./use-list-cursor";
import { useListSelection } from "./use-list-selection";

const SidePanel = lazily(() => import("./side-panel"), "SidePanel");

/** The first page, read by the server, and its list query. */
export type InitialEvents = NonNullable<InitialList> & { query: string };

/** The list of parked events. The filter, the order and the open event are in the address. */
export function EventsView({ initial }: { initial: InitialEvents | null }) {
  const { filter, fault, setFilter } = useEventFilter();
  const [sortText] = usePageParam("sort");
  if (fault) {
    return (
      <>
        <h1 className="sr-only">Events</h1>
        <ErrorPanel error={new ApiError("invalid-filter", fault.message, { fields: fault.fields })}>
          <ClearFilter onClear={() => setFilter({})} />
        </ErrorPanel>
      </>
    );
  }
  const sort = eventSortOf(sortText);
  const query = listQuery(filter, sort);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <h1 className="sr-only">Events</h1>
      <FilterBar filter={filter} onFilter={setFilter} />
      {/* A new filter is a new list with a new selection, active row and scroll position. */}
      <EventsList
        key={query}
        query={query}
        {...{ filter, sort, setFilter }}
        initial={initial?.query === query ? initial : null}
      />
    </div>
  );
}

function ClearFilter({ onClear }: { onClear: () => void }) {
  return (
    <Button size="sm" className="mt-2" onClick={onClear}>
      Clear the filter
    </Button>
  );
}

function EventsList(props: {
  query: string;
  filter: EventFilter;
  sort: EventSort | null;
  setFilter: (next: EventFilter) => void;
  initial: InitialList;
}) {
  const { query, filter, sort, setFilter, initial } = props;
  const [, setSort] = usePageParam("sort");
  const list = useEventRows({ filter, sort }, initial);
  const counts = useEventCounts(filter);
  const { rows } = list;
  const order = useMemo(() => rows.map((row) => row.event.id), [rows]);
  const events = useMemo(() => rows.map((row) => row.event), [rows]);
  const counted = counts.isPlaceholderData ? undefined : counts.data;
  const countInBand = useIsInBand(counts.error);

  const cursor = useListCursor(query, { filter, sort }, order);
  const selection = useListSelection(order, cursor.setActiveId);
  const { picked } = selection;
  // The same question as above until a row is left out.
  const left = useEventCounts(pickedFilter(picked, filter));
  const selected = left.isPlaceholderData ? undefined : left.data;
  const exactTotal = selected?.total.kind === "exact" ? selected.total.value : null;
  const actions = useListActions({ filter, events, exactTotal, cursor, selection });
  const showNew = async () => {
    await list.showNew();
    cursor.table.current?.scrollToTop();
  };
  const eventIdOf = (id: string) => events.find((event) => event.id === id)?.eventId;
  useListKeys({ cursor, selection, actions, showNew, eventIdOf });
  const { open } = cursor;
  const { toggleRow } = selection;
  const rowActions = useMemo(() => ({ open, toggle: toggleRow }), [open, toggleRow]);

  return (
    <>
      <MeaningsLine filter={filter} />
      {isEmptyFilter(filter) ? null : (
        <button type="button" hidden data-command="Mend all events of this filter" onClick={actions.mend}>
          Mend
        </button>
      )}
      {list.isLoading ? null : <ArchivedLine filter={filter} listed={rows.length > 0} />}
      <CountsLine
        counts={counts.data}
        failed={counts.isError && !countInBand}
        filter={filter}
        newcomers={list.newcomers}
        examinedTo={list.examinedTo}
        onFilter={setFilter}
        onShowNew={() => void showNew()}
      />
      {list.error && rows.length > 0 ? <ErrorPanel error={list.error} inline onRetry={list.retry} /> : null}
      <div className="flex min-h-0 flex-1">
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          {rows.length === 0 ? (
            <NoRows list={list} filter={filter} setFilter={setFilter} />
          ) : (
            <EventTable
              rows={rows}
              sort={sort}
              onSort={() => setSort(sortAfter(sort))}
              picked={picked}
              activeId={cursor.activeId}
              openId={cursor.openId}
              total={counted?.total.value ?? null}
              locked={isExceptFull(picked, filter)}
              actions={rowActions}
              hasMore={list.hasMore}
              handle={cursor.table}
              onToggleLoaded={selection.toggleLoaded}
              onNearEnd={list.fetchMore}
              onFirstVisible={list.setFirstVisible}
              startAt={cursor.startAt}
              onScrolled={cursor.onScrolled}
            />
          )}
          <BulkBar
            selection={selection}
            actions={actions}
            filter={filter}
            events={events}
            matching={counted?.total}
            counted={selected}
          />
        </div>
        <OpenEvent cursor={cursor} />
      </div>
      <ListDialogs
        actions={actions}
        setPicked={selection.setPicked}
        picked={picked}
        filter={filter}
        events={events}
        total={selected?.total.value ?? null}
        asOf={selected?.total.asOf ?? null}
      />
    </>
  );
}

type Cursor = ReturnType<typeof useListCursor>;

function OpenEvent({ cursor: { openId, openAt, move, setOpenId, goToPage } }: { cursor: Cursor }) {
  if (openId === null) return null;
  return (
    <SidePanel
      id={openId}
      position={openAt}
      onMove={move}
      onClose={() => setOpenId(null)}
      onPage={() => goToPage(openId)}
    />
  );
}

function useListKeys(options: {
  cursor: Cursor;
  selection: ReturnType<typeof useListSelection>;
  actions: ListActions;
  showNew: () => Promise<void>;
  eventIdOf: (id: string) => string | undefined;
}) {
  const { cursor, selection, actions, showNew, eventIdOf } = options;
  const { activeId, openId, move } = cursor;
  const toggleActive = (range: boolean) => {
    if (activeId !== null) selection.toggleRow(activeId, range, eventIdOf(activeId));
    else move(1);
  };
  useHotkeys({
    j: () => move(1),
    k: () => move(-1),
    arrowdown: () => move(1),
    arrowup: () => move(-1),
    enter: () => {
      if (activeId === null) return;
      if (openId === activeId) cursor.goToPage(activeId);
      else cursor.open(activeId);
    },
    x: () => toggleActive(false),
    " ": () => toggleActive(false),
    "shift+x": () => toggleActive(true),
    // A stray letter of a word must not select everything: it only widens a selection that was begun.
    a: () => (selection.picked.kind === "none" ? undefined : selection.selectAll()),
    "shift+a": selection.selectAll,
    r: () => actions.actOn("redrive"),
    v: () => actions.actOn("verify"),
    i: actions.ignoreOrRelease,
    e: actions.edit,
    m: actions.mend,
    n: () => void showNew(),
    escape: () => {
      if (openId !== null) cursor.setOpenId(null);
      else selection.clear();
    },
  });
}

type NoRowsProps = {
  list: ReturnType<typeof useEventRows>;
  filter: EventFilter;
  setFilter: (next: EventFilter) => void;
};

function NoRows({ list, filter, setFilter }: NoRowsProps) {
  if (list.isLoading || (list.examinedTo && !list.error)) return <ListSkeleton />;
  if (!list.error) return <NothingHere filter={filter} hints={list.hints} onFilter={setFilter} />;
  const wrongFilter = list.error instanceof ApiError && list.error.code === "invalid-filter";
  return (
    <ErrorPanel error={list.error} onRetry={wrongFilter ? undefined : list.retry}>
      {wrongFilter ? <ClearFilter onClear={() => setFilter({})} /> : null}
    </ErrorPanel>
  );
}

/** Two different sentences: no event is parked, or the filter hides all events. */
function NothingHere(props: {
  filter: EventFilter;
  hints: ReturnType<typeof useEventRows>["hints"];
  onFilter: (next: EventFilter) => void;
}) {
  const { filter, hints, onFilter } = props;
  if (isEmptyFilter(filter)) {
    return (
      <EmptyState
        title="Nothing is parked"
        action={
          <>
            <LinkButton href="/sources" variant="primary">
              Connect a source
            </LinkButton>
            <LinkButton href="/redrives">View past redrives</LinkButton>
          </>
        }
      >
        No event has been parked yet. New events appear here automatically.
      </EmptyState>
    );
  }
  const { from, to, ...rest } = filter;
  const windowed = from !== undefined || to !== undefined;
  return (
    <EmptyState
      title="No event matches"
      action={
        <>
          {windowed ? <Button onClick={() => onFilter(rest)}>Search any time</Button> : null}
          <Button onClick={() => onFilter({})}>Clear the filter</Button>
        </>
      }
    >
      {hints.map(({ detail }) => (
        <p key={detail} className="wrap-anywhere text-warning">
          {detail}
        </p>
      ))}
      This filter may hide events. New events that match appear here automatically.
    </EmptyState>
  );
}
