"use client";

import { ChevronDown, ChevronUp } from "lucide-react";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { lastRedrive, whyNotEdit } from "@/components/events/action-rules";
import { AdmissionNote } from "@/components/events/admission-note";
import { ErrorView } from "@/components/events/error-view";
import { EventActions } from "@/components/events/event-actions";
import { EventBadge, HeldCause } from "@/components/events/event-badge";
import { aggregateText } from "@/components/events/event-state";
import { PayloadView } from "@/components/events/payload/payload-view";
import { SavedRevision } from "@/components/events/revisions/saved-revision";
import { RevealNote, useReveal } from "@/components/guard/masking/reveal";
import { Button, IconButton, LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily, whenOpened } from "@/components/ui/lazily";
import { ShortId } from "@/components/ui/short-id";
import { Skeleton } from "@/components/ui/skeleton";
import { Tabs } from "@/components/ui/tabs";
import { useHydrated } from "@/components/ui/use-hydrated";
import { useTitle } from "@/components/ui/use-title";
import { type InitialDetail, useEventDetail, useNeighbours } from "@/lib/events/events.browser";
import type { EventDetail } from "@/lib/events/events.shapes";
import { eventSortOf } from "@/lib/events/list/event-sort.pure";
import { useHotkeys } from "@/lib/platform/browser/hotkeys.browser";
import { shortenId, visible } from "@/lib/platform/plain/format.pure";
import type { EditedAnswer } from "@/lib/repair/revisions/revisions.shapes";
import { filterHref } from "@/lib/selection/filter/filter-read.browser";
import { useEventFilter, usePageParam } from "@/lib/selection/filter/filter-url.browser";
import { isEmptyFilter } from "@/lib/selection/filter/qualified-search.browser";
import { Facts } from "./facts";

const AggregateView = lazily(() => import("./aggregate-view"), "AggregateView");
const HeadersView = lazily(() => import("./headers-view"), "HeadersView");
const HistoryView = lazily(() => import("./history-view"), "HistoryView");
const RevisionsView = lazily(() => import("@/components/events/revisions/revisions-view"), "RevisionsView");
const MissingEvent = lazily(() => import("@/components/keep/archive/missing-event"), "MissingEvent");
const EventEditor = whenOpened(
  () => import("@/components/repair/editor/event-editor").then(({ EventEditor }) => EventEditor),
  <EditorSkeleton />,
);

const TAB_IDS = ["payload", "headers", "error", "history", "revisions", "aggregate"] as const;

/** One event. The filter in its address is the filter of the list that opened it. */
export function EventPage({ id, initial }: { id: string; initial: InitialDetail }) {
  const { data: event, error, refetch } = useEventDetail(id, initial);
  useTitle(event && `Event ${event.eventId}`);
  // Also of an event that this page has shown: it was removed meanwhile.
  if (error?.code === "unknown-event") return <MissingEvent id={id} />;
  if (!event) {
    return (
      <>
        <h1 className="sr-only">Event</h1>
        {error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : <PageSkeleton />}
      </>
    );
  }
  return <Loaded key={event.id} event={event} error={error} onRetry={() => void refetch()} />;
}

function Loaded(props: { event: EventDetail; error: unknown; onRetry: () => void }) {
  const { error, onRetry } = props;
  const reveal = useReveal(props.event);
  const event = reveal.shown;
  const [edit, setEdit] = usePageParam("edit");
  const [saved, setSaved] = useState<EditedAnswer | null>(null);
  const editing = edit === "1";
  const close = () => setEdit(null);
  return (
    <div className="flex min-h-full flex-col lg:h-full lg:min-h-0">
      <Header event={event} editing={editing} />
      {error ? <ErrorPanel error={error} inline onRetry={onRetry} /> : null}
      {editing ? null : <ErrorLine event={event} />}
      {editing ? null : <AdmissionNote event={event} />}
      <HeldCause event={event} />
      <RevealNote event={props.event} state={reveal} editing={editing} />
      {saved === null || editing ? null : (
        <SavedRevision event={event} saved={saved} onEdit={() => setEdit("1")} onClose={() => setSaved(null)} />
      )}
      <div className="flex min-h-0 flex-1 flex-col lg:flex-row">
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          {editing ? (
            <EditorOf
              event={event}
              revealed={reveal.revealed !== null}
              onClose={close}
              onSaved={(answer) => {
                setSaved(answer);
                close();
              }}
            />
          ) : (
            <EventTabs event={event} />
          )}
        </div>
        <aside
          aria-label="Facts"
          className="shrink-0 border-t border-line lg:w-84 lg:overflow-y-auto lg:border-t-0 lg:border-l"
        >
          <Facts event={event} />
        </aside>
      </div>
    </div>
  );
}

/** The editor, or why the event cannot be edited. An edit that was begun stays open, so that its text is not lost. */
function EditorOf(props: {
  event: EventDetail;
  revealed: boolean;
  onClose: () => void;
  onSaved: (saved: EditedAnswer) => void;
}) {
  const why = whyNotEdit(props.event);
  const [begun, setBegun] = useState(why === null);
  if (why === null && !begun) setBegun(true);
  // The server knows nothing of an unsaved edit that this tab keeps.
  if (!useHydrated()) return <EditorSkeleton />;
  if (begun) return <EventEditor {...props} />;
  const redriveId = lastRedrive(props.event);
  return (
    <EmptyState
      title="This event cannot be edited now"
      action={
        <>
          {redriveId === null ? null : (
            <LinkButton href={`/redrives/${redriveId}`}>Open redrive {shortenId(redriveId)}</LinkButton>
          )}
          <Button onClick={props.onClose}>Back to the event</Button>
        </>
      }
    >
      {why}
    </EmptyState>
  );
}

/** `editing`: the actions would use the saved revision, not what is being typed. */
function Header({ event, editing }: { event: EventDetail; editing: boolean }) {
  const aggregate = aggregateText(event);
  return (
    <header className="flex shrink-0 flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2">
      {/* On a phone the walk stands beside the title, so that the actions fit one line. */}
      <div className="min-w-0 flex-1 basis-60">
        <h1 className="flex flex-wrap items-center gap-x-3 text-lg font-semibold">
          <EventBadge event={event} linked />
          <bdi className="font-mono wrap-anywhere">{visible(event.errorCode)}</bdi>
          <span className="sr-only">event {event.eventId}</span>
        </h1>
        <p className="flex flex-wrap items-center gap-x-3 text-muted">
          <ShortId id={event.eventId} label="event id" head={12} tail={6} />
          {event.producer === null ? null : (
            <bdi
              className="line-clamp-1 font-mono text-sm break-all"
              data-tip="Producer: event ids are unique within a producer"
            >
              {visible(event.producer)}
            </bdi>
          )}
          {event.revision === 1 ? null : (
            <span data-tip="Its current revision: see the Revisions tab">revision {event.revision}</span>
          )}
          {event.eventType ? <bdi className="wrap-anywhere">{visible(event.eventType)}</bdi> : null}
          {aggregate ? <bdi className="line-clamp-1 font-mono text-sm break-all">{visible(aggregate)}</bdi> : null}
          <span className="line-clamp-1 break-all">
            {event.source} <span className="text-faint">→</span> {event.target.main ?? "no target"}
          </span>
        </p>
      </div>
      {editing ? null : (
        <>
          <Walk id={event.id} />
          <div className="flex flex-wrap items-center gap-1.5 max-sm:basis-full">
            <EventActions event={event} keyboard />
          </div>
        </>
      )}
    </header>
  );
}

/** Why the event was parked, in one line; the tab Error has all of it. */
function ErrorLine({ event }: { event: EventDetail }) {
  const [, setTab] = usePageParam("tab");
  const text = event.lastError ?? event.errorDetail.message;
  if (!text) return null;
  return (
    <p className="flex shrink-0 items-baseline gap-3 border-b border-line px-4 py-1.5">
      <span className="line-clamp-2 min-w-0 font-mono text-sm wrap-anywhere">
        <bdi>{visible(text.slice(0, ERROR_LINE_CHARS).toWellFormed())}</bdi>
      </span>
      <button type="button" onClick={() => setTab("error")} className="touch shrink-0 text-sm text-accent underline">
        Error details
      </button>
    </p>
  );
}

/** Two lines of the widest screen hold no more. */
const ERROR_LINE_CHARS = 500;

/** Links to the previous and the next event of the list that opened this event. */
function Walk({ id }: { id: string }) {
  const router = useRouter();
  const { filter } = useEventFilter();
  const sort = eventSortOf(usePageParam("sort")[0]);
  const { data } = useNeighbours(id, filter, sort);
  const list = filterHref("/events", filter ?? {}, new URLSearchParams(sort === null ? {} : { sort }));
  const go = (to: string | null | undefined) => {
    if (to) router.push(filterHref(`/events/${to}`, filter ?? {}, new URLSearchParams(window.location.search)));
  };
  useHotkeys({
    j: () => go(data?.next),
    k: () => go(data?.previous),
    escape: () => router.push(`${list}${list.includes("?") ? "&" : "?"}open=${id}`),
  });
  return (
    <div className="flex items-center gap-1 sm:mr-2">
      <Link
        href={list}
        prefetch={false}
        data-tip="Back to the list  Esc"
        className="hidden rounded-sm px-1 whitespace-nowrap text-muted sm:inline hover:text-ink hover:underline"
      >
        {filter && !isEmptyFilter(filter) ? "in this filter" : "in all events"}
      </Link>
      <IconButton label="Previous event" shortcut="k" disabled={!data?.previous} onClick={() => go(data?.previous)}>
        <ChevronUp size={15} aria-hidden />
      </IconButton>
      <IconButton label="Next event" shortcut="j" disabled={!data?.next} onClick={() => go(data?.next)}>
        <ChevronDown size={15} aria-hidden />
      </IconButton>
    </div>
  );
}

function EventTabs({ event }: { event: EventDetail }) {
  const [tab, setTab] = usePageParam("tab");
  const value = TAB_IDS.find((id) => id === tab) ?? "payload";
  return (
    <Tabs
      label="Parts of the event"
      value={value}
      onChange={(next) => setTab(next === "payload" ? null : next)}
      panelClassName="min-h-0 flex-1 -outline-offset-2 lg:overflow-y-auto"
      tabs={[
        {
          id: "payload",
          label: "Payload",
          content: <PayloadView key={event.id} eventId={event.id} body={event.body} />,
        },
        {
          id: "headers",
          label: "Headers",
          count: event.headers.length,
          content: <HeadersView headers={event.headers} />,
        },
        { id: "error", label: "Error", content: <ErrorView event={event} /> },
        {
          id: "history",
          label: "History",
          count: event.history.length,
          content: <HistoryView eventId={event.id} history={event.history} />,
        },
        {
          id: "revisions",
          label: "Revisions",
          content: <RevisionsView event={event} />,
        },
        {
          id: "aggregate",
          label: "Aggregate",
          count: event.aggregate.length,
          content: <AggregateView event={event} />,
        },
      ]}
    />
  );
}

function EditorSkeleton() {
  return (
    <div role="status" aria-label="Loading the editor" className="flex flex-col gap-3 p-4">
      <Skeleton className="h-6 w-full" />
      <Skeleton className="h-64 w-full" />
    </div>
  );
}

function PageSkeleton() {
  return (
    <div role="status" aria-label="Loading">
      <div className="flex flex-col gap-3 border-b border-line px-4 py-3">
        <Skeleton className="h-4 w-72" />
        <Skeleton className="w-96" />
      </div>
      <div className="flex gap-4 p-4">
        <div className="flex flex-1 flex-col gap-3">
          <Skeleton className="h-6 w-full" />
          {[70, 55, 62, 40, 58, 30, 66, 45].map((width) => (
            <div key={width} style={{ width: `${width}%` }}>
              <Skeleton />
            </div>
          ))}
        </div>
        <div className="hidden w-76 flex-col gap-3 lg:flex">
          {[80, 60, 75, 50, 70].map((width) => (
            <div key={width} style={{ width: `${width}%` }}>
              <Skeleton />
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
