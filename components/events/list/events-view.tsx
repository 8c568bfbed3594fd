"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useCallback, useMemo, useRef, useState } from "react";
import { whyNotRedrive } from "@/components/events/action-rules";
import { FilterBar } from "@/components/events/filters/filter-bar";
import { mendHref } from "@/components/repair/mends/mend-address";
import { Button, LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { loadAfterPaint, loadChunk } from "@/components/ui/load-chunk";
import { showToast } from "@/components/ui/toast";
import type { InitialList } from "@/lib/events/events.browser";
import { useEventCounts } from "@/lib/events/events.browser";
import type { ListedEvent } from "@/lib/events/events.shapes";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { toSearchParams } from "@/lib/events/filter/filter-params.shapes";
import { filterHref } from "@/lib/events/filter/filter-read.browser";
import { useEventFilter, usePageParam } from "@/lib/events/filter/filter-url.browser";
import { isEmptyFilter } from "@/lib/events/filter/qualified-search.browser";
import {
  extendTo,
  NOTHING,
  type Picked,
  pickedCount,
  selectionOf,
  toggle,
  toggleLoaded,
} from "@/lib/events/selection/selection.browser";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { useHotkeys } from "@/lib/platform/browser/hotkeys.browser";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { type BulkAction, commonScope, holdsNone, mayHoldIgnored } from "./bulk-action";
import { BulkBar } from "./bulk-bar";
import { CountsLine } from "./counts-line";
import { EventTable, ListSkeleton, type TableHandle } from "./event-table";
import { placeToReturnTo, rememberPlace } from "./list-place";
import { MeaningsLine } from "./meanings-line";
import { useEventRows } from "./use-event-rows";

const SidePanel = lazily(() => import("./side-panel").then(({ SidePanel }) => SidePanel));
const RedriveDialog = lazily(() =>
  import("@/components/redrive/dialog/redrive-dialog").then(({ RedriveDialog }) => RedriveDialog),
);
const ControlDialog = lazily(() =>
  import("@/components/order/controls/control-dialog").then(({ ControlDialog }) => ControlDialog),
);
const RedriveConfirm = lazily(() =>
  import("@/components/events/redrive-confirm").then(({ RedriveConfirm }) => RedriveConfirm),
);
const BulkDialog = lazily(() => import("@/components/events/bulk/bulk-dialog").then(({ BulkDialog }) => BulkDialog));

const loadOneClick = () => import("@/components/redrive/one-click/one-click");
loadAfterPaint(loadOneClick);

/** Below this width the side panel would cover the list, so an event opens on its own page. */
const PANEL_FROM_PX = 900;

/** The first page that the server read, and the query of its filter. */
export type InitialEvents = NonNullable<InitialList> & { query: string };

/** The list of parked events. The filter and the open event are in the address. */
export function EventsView({ initial }: { initial: InitialEvents | null }) {
  const { filter, fault, setFilter } = useEventFilter();
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
  const query = toSearchParams(filter).toString();
  return (
    <div className="flex h-full min-h-0 flex-col">
      <h1 className="sr-only">Events</h1>
      <FilterBar filter={filter} onFilter={setFilter} />
      {/* A new filter is a new list with a new selection, active row and scroll position. */}
      <EventsList
        key={query}
        query={query}
        filter={filter}
        setFilter={setFilter}
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

/** The active row: its id, its last place in the list (-1 = none), and the place `step` rows further. */
function useActiveRow(order: string[], startId: string | null) {
  const [activeId, setActiveId] = useState(startId);
  const lastAt = useRef(-1);
  const at = activeId === null ? -1 : order.indexOf(activeId);
  if (at !== -1) lastAt.current = at;
  const next = (step: number) => {
    // A row that left the list stood before the row that now has its place.
    const from = at === -1 && activeId !== null && lastAt.current >= 0 ? lastAt.current - (step > 0 ? 1 : 0) : at;
    if (at === -1 && from === -1 && step < 0) return order.length - 1;
    return Math.min(Math.max(from + step, 0), order.length - 1);
  };
  return { activeId, setActiveId, activeAt: lastAt.current, next };
}

function EventsList({
  query,
  filter,
  setFilter,
  initial,
}: {
  /** The filter as the query of the address. */
  query: string;
  filter: EventFilter;
  setFilter: (next: EventFilter) => void;
  initial: InitialList;
}) {
  const client = useQueryClient();
  const router = useRouter();
  const table = useRef<TableHandle | null>(null);
  const list = useEventRows(filter, initial);
  const counts = useEventCounts(filter);
  const [openId, setOpenId] = usePageParam("open");
  const [place] = useState(() => (typeof window === "undefined" ? null : placeToReturnTo(query)));
  const scrollTop = useRef(place?.scrollTop ?? 0);
  const [picked, setPicked] = useState<Picked>(NOTHING);
  const [action, setAction] = useState<BulkAction | null>(null);
  const [sending, setSending] = useState(false);
  const [confirming, setConfirming] = useState<ListedEvent | null>(null);
  /** An event whose redrive waits for a decision about the earlier versions of its aggregate. */
  const [heldId, setHeldId] = useState<string | null>(null);

  const { rows } = list;
  const order = useMemo(() => rows.map((row) => row.event.id), [rows]);
  const events = useMemo(() => rows.map((row) => row.event), [rows]);
  const { activeId, setActiveId, activeAt, next } = useActiveRow(order, openId ?? place?.activeId ?? null);
  const counted = counts.isPlaceholderData ? undefined : counts.data;
  const matching = counted?.total;
  const total = matching?.value ?? null;
  // Without a further page and with as many rows as match, "all matching" can be named one by one.
  const whole = !list.hasMore && matching?.kind === "exact" && total === order.length ? order : null;
  const latest = useRef({ order, whole, picked, filter });
  latest.current = { order, whole, picked, filter };

  const goToPage = useCallback(
    (id: string) => {
      rememberPlace(query, { scrollTop: scrollTop.current, activeId: id });
      router.push(filterHref(`/events/${id}`, latest.current.filter));
    },
    [router, query],
  );
  const open = useCallback(
    (id: string) => {
      setActiveId(id);
      if (window.innerWidth < PANEL_FROM_PX) goToPage(id);
      else setOpenId(id);
    },
    [goToPage, setOpenId, setActiveId],
  );
  const actions = useMemo(
    () => ({
      open,
      toggle: (id: string, range: boolean) => {
        setActiveId(id);
        setPicked((now) => (range ? extendTo(now, id, latest.current.order) : toggle(now, id, latest.current.whole)));
      },
    }),
    [open, setActiveId],
  );

  const move = (step: number) => {
    const at = next(step);
    const id = order[at];
    if (id === undefined) return;
    setActiveId(id);
    table.current?.scrollToRow(at);
    if (openId !== null) setOpenId(id);
  };

  const showNew = async () => {
    await list.showNew();
    table.current?.scrollToTop();
  };

  const sendOne = (event: ListedEvent, mode: "deliver" | "verify") => {
    void loadChunk(loadOneClick).then(({ redriveOne }) =>
      redriveOne(
        client,
        event,
        mode,
        (href) => router.push(href),
        () => setHeldId(event.id),
      ),
    );
  };

  /** The selection goes with the click, and comes back with Undo. */
  const redriveSelected = async () => {
    const selection = selectionOf(picked, filter);
    if (selection === null || sending) return;
    const count = picked.kind === "ids" ? picked.ids.size : matching?.kind === "exact" ? total : null;
    if (count === null) return setAction("redrive");
    setSending(true);
    const { redriveAtOnce } = await loadChunk(loadOneClick);
    const started = await redriveAtOnce(client, selection, count, {
      open: (href) => router.push(href),
      onAsk: () => setAction("redrive"),
      onUndone: () => setPicked(picked),
    });
    if (started) setPicked(NOTHING);
    setSending(false);
  };

  /** Without a selection a key acts on the active event. */
  const actOn = (wanted: BulkAction) => {
    if (picked.kind === "none") {
      if (activeId === null || !order.includes(activeId)) return;
      const event = events.find((entry) => entry.id === activeId);
      if (!event) return;
      if (wanted === "redrive") return setConfirming(event);
      if (wanted === "verify") return sendOne(event, "verify");
      setPicked(toggle(NOTHING, activeId));
    }
    setAction(wanted);
  };
  const ignoreOrRelease = () => {
    const event = picked.kind === "none" ? events.find((entry) => entry.id === activeId) : undefined;
    actOn(event?.status === "IGNORED" ? "release" : "ignore");
  };

  const keepPlace = () => rememberPlace(query, { scrollTop: scrollTop.current, activeId });

  const toggleActive = (range: boolean) => {
    if (activeId !== null) actions.toggle(activeId, range);
    else move(1);
  };
  const selectAll = () => {
    if (order.length > 0) setPicked({ kind: "all" });
  };
  const closeOrClear = () => {
    if (openId !== null) setOpenId(null);
    else setPicked(NOTHING);
  };

  /** Mends the selection, or all events of the filter. The mend page has its own preview. */
  const mend = () => {
    const selection =
      picked.kind === "none" ? (isEmptyFilter(filter) ? null : { filter }) : selectionOf(picked, filter);
    if (selection === null)
      return void showToast({ title: "Nothing is selected", detail: "Select events, or filter the list." });
    keepPlace();
    router.push(mendHref(selection, randomKey));
  };
  const edit = () => {
    if (activeId === null || !order.includes(activeId)) return;
    rememberPlace(query, { scrollTop: scrollTop.current, activeId });
    const href = filterHref(`/events/${activeId}`, filter);
    router.push(`${href}${href.includes("?") ? "&" : "?"}edit=1`);
  };

  useHotkeys({
    j: () => move(1),
    k: () => move(-1),
    arrowdown: () => move(1),
    arrowup: () => move(-1),
    enter: () => {
      if (activeId === null) return;
      if (openId === activeId) goToPage(activeId);
      else open(activeId);
    },
    x: () => toggleActive(false),
    " ": () => toggleActive(false),
    "shift+x": () => toggleActive(true),
    // A stray letter of a word must not select everything: it only widens a selection that was begun.
    a: () => (picked.kind === "none" ? undefined : selectAll()),
    "shift+a": selectAll,
    r: () => actOn("redrive"),
    v: () => actOn("verify"),
    i: ignoreOrRelease,
    e: edit,
    m: mend,
    n: () => void showNew(),
    escape: closeOrClear,
  });

  const wrongFilter = list.error instanceof ApiError && list.error.code === "invalid-filter";

  return (
    <>
      <MeaningsLine filter={filter} />
      <CountsLine
        counts={counts.data}
        failed={counts.isError && !isOffline(counts.error)}
        filter={filter}
        newcomers={list.newcomers}
        onFilter={setFilter}
        onShowNew={() => void showNew()}
      />
      {/* A strip above every page shows that the server does not answer. */}
      {list.error && rows.length > 0 && !isOffline(list.error) ? (
        <ErrorPanel error={list.error} inline onRetry={list.retry} />
      ) : null}
      <div className="flex min-h-0 flex-1">
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          {list.isLoading ? (
            <ListSkeleton />
          ) : rows.length === 0 ? (
            list.error ? (
              <ErrorPanel error={list.error} onRetry={wrongFilter ? undefined : list.retry}>
                {wrongFilter ? <ClearFilter onClear={() => setFilter({})} /> : null}
              </ErrorPanel>
            ) : (
              <NothingHere filter={filter} onFilter={setFilter} />
            )
          ) : (
            <EventTable
              rows={rows}
              picked={picked}
              activeId={activeId}
              openId={openId}
              total={total}
              locked={picked.kind === "all" && whole === null}
              actions={actions}
              hasMore={list.hasMore}
              handle={table}
              onToggleLoaded={() => setPicked((now) => toggleLoaded(now, order))}
              onNearEnd={list.fetchMore}
              onFirstVisible={list.setFirstVisible}
              startAt={place?.scrollTop ?? 0}
              onScrolled={(top) => {
                scrollTop.current = top;
                keepPlace();
              }}
            />
          )}
          {picked.kind === "none" ? null : (
            <BulkBar
              picked={picked}
              total={matching}
              someIgnored={mayHoldIgnored(picked, filter, events)}
              nonePending={holdsNone(picked, ["PENDING"], events, counted)}
              noneOpen={holdsNone(picked, ["PENDING", "QUEUED"], events, counted)}
              onAll={selectAll}
              onClear={() => setPicked(NOTHING)}
              onAction={setAction}
              onRedrive={() => void redriveSelected()}
              onMend={mend}
              sending={sending}
            />
          )}
        </div>
        {openId === null ? null : (
          <SidePanel
            id={openId}
            position={order.indexOf(openId) === -1 ? activeAt : order.indexOf(openId)}
            onMove={move}
            onClose={() => setOpenId(null)}
            onPage={() => goToPage(openId)}
          />
        )}
      </div>
      {action ? (
        <ActionDialog
          action={action}
          picked={picked}
          filter={filter}
          events={events}
          total={total}
          onClose={() => setAction(null)}
          // The same action over "all matching" would otherwise act on the events that match next.
          onDone={() => setPicked(NOTHING)}
          onUndone={() => setPicked(picked)}
        />
      ) : null}
      {heldId === null ? null : (
        <RedriveDialog selection={{ ids: [heldId] }} total={1} onClose={() => setHeldId(null)} />
      )}
      {confirming ? (
        <RedriveConfirm
          event={confirming}
          refusal={whyNotRedrive(confirming, Date.now())}
          onConfirm={() => sendOne(confirming, "deliver")}
          onClose={() => setConfirming(null)}
        />
      ) : null}
    </>
  );
}

function ActionDialog({
  action,
  picked,
  filter,
  events,
  total,
  onUndone,
  ...dialog
}: {
  action: BulkAction;
  picked: Picked;
  filter: EventFilter;
  events: ListedEvent[];
  total: number | null;
  onClose: () => void;
  onDone: () => void;
  onUndone: () => void;
}) {
  if (action === "cooldown" || action === "blacklist") {
    return <ControlDialog {...dialog} kind={action} scope={commonScope(picked, filter, events) ?? undefined} />;
  }
  const selection = selectionOf(picked, filter);
  if (!selection) return null;
  const selected = { ...dialog, selection, total: pickedCount(picked, total) };
  return action === "redrive" || action === "verify" ? (
    <RedriveDialog {...selected} onUndone={onUndone} initialMode={action === "verify" ? "verify" : "deliver"} />
  ) : (
    <BulkDialog {...selected} kind={action} />
  );
}

function isOffline(error: unknown): boolean {
  return error instanceof ApiError && error.code === "offline";
}

/** Two different sentences: no event is parked, or the filter hides all events. */
function NothingHere({ filter, onFilter }: { filter: EventFilter; onFilter: (next: EventFilter) => void }) {
  if (isEmptyFilter(filter)) {
    return (
      <EmptyState
        title="Nothing is parked"
        action={
          <>
            <LinkButton href="/sources" variant="primary">
              Connect a source
            </LinkButton>
            <LinkButton href="/redrives">Past redrives</LinkButton>
          </>
        }
      >
        No event has been parked yet. New ones appear here by themselves.
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
      Events may exist that this filter hides. New ones that match appear here by themselves.
    </EmptyState>
  );
}
