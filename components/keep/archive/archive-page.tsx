"use client";

import { X } from "lucide-react";
import { useSearchParams } from "next/navigation";
import { useState } from "react";
import { useListSelection } from "@/components/events/list/use-list-selection";
import { ActionButton } from "@/components/ui/action-button";
import { Button, LinkButton, NextPageButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { lazily } from "@/components/ui/lazily";
import { itemsOf, ListState } from "@/components/ui/loaded";
import { PageHeader } from "@/components/ui/page-header";
import { TextLink } from "@/components/ui/text-link";
import { type ArchiveFilter, archiveFilterOf, archiveHref, useArchive } from "@/lib/keep/archive/archive.browser";
import { useHotkeys } from "@/lib/platform/browser/hotkeys.browser";
import { formatNumber, plural, shortenId } from "@/lib/platform/plain/format.pure";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { pushAddress } from "@/lib/selection/filter/filter-url.browser";
import { ArchiveFilterBar } from "./archive-filter-bar";
import { ArchivedEvents } from "./archived-events";
import { NoArchive } from "./no-archive";
import { RefusedRestores } from "./refused-restores";
import { useRestore } from "./use-restore";

const RestoreRemovalDialog = lazily(() => import("./restore-removal-dialog"), "RestoreRemovalDialog");

const setAddress = (filter: ArchiveFilter) => pushAddress(archiveHref(filter));

/** The events that were removed from the store, and the way back. The filter is in the address. */
export function ArchivePage() {
  const params = useSearchParams();
  const query = params.toString();
  // A new filter is a new list with a new selection.
  return <Archive key={query} filter={archiveFilterOf(new URLSearchParams(query))} />;
}

function Archive({ filter }: { filter: ArchiveFilter }) {
  const archive = useArchive(filter);
  const pages = archive.data?.pages;
  const items = itemsOf(archive);
  const place = pages?.[0]?.place ?? null;
  const order = items.map(({ id }) => id);
  const selection = useListSelection(order);
  const { restore, busy, refused, forgetRefused } = useRestore();
  const { picked } = selection;
  const selected = picked.kind === "ids" ? items.filter(({ id }) => picked.ids.has(id)) : [];
  const noRestore = pages && place === null ? "No archive is configured" : null;
  useHotkeys({
    j: () => focusRow(1),
    k: () => focusRow(-1),
    x: () => focusedBox()?.click(),
    escape: selection.clear,
  });
  const restoreSelected = async () => {
    if (await restore(selected)) selection.clear();
  };
  return (
    <div className="flex min-h-full flex-col">
      <PageHeader
        title="Archive"
        meta={
          <>
            {items.length > 0 ? `${formatNumber(items.length)}${archive.hasNextPage ? "+" : ""} shown · ` : null}
            {place === null ? (
              "events that were removed from the store"
            ) : (
              <>
                in <span className="font-mono text-sm wrap-anywhere">{place}</span>
              </>
            )}
          </>
        }
      />
      <ArchiveFilterBar filter={filter} onFilter={setAddress} />
      {filter.operation === undefined ? null : (
        <OfRemoval operation={filter.operation} noRestore={noRestore} onAny={() => setAddress(without(filter))} />
      )}
      {noRestore !== null && items.length > 0 ? (
        <div className="mx-3 mb-3 rounded-md border border-l-2 border-warning bg-surface px-3 py-2">
          <NoArchive what="restored" />
        </div>
      ) : null}
      <RefusedRestores refused={refused} onClose={forgetRefused} />
      <ListState
        read={archive}
        loading={{ rows: 12, columns: ["w-24", "w-36", "w-36", "flex-1", "w-24"] }}
        none={<Nothing filter={filter} configured={place !== null} />}
      />
      {items.length === 0 ? null : (
        <ArchivedEvents
          events={items}
          selection={selection}
          noRestore={noRestore}
          busy={busy}
          onRestore={(event) => void restore([event])}
        />
      )}
      <NextPageButton read={archive}>Older events</NextPageButton>
      {selected.length === 0 ? null : (
        <section
          aria-label="Selection"
          className="sticky bottom-0 z-10 mt-auto flex flex-wrap items-center gap-x-3 gap-y-1.5 border-t border-line-strong bg-raised px-3 py-1.5"
        >
          <p aria-live="polite" className="whitespace-nowrap">
            <span className="font-medium">{formatNumber(selected.length)} selected</span>
            <span className="text-faint"> · </span>
            <button type="button" onClick={selection.clear} data-tip="Esc" className="text-muted hover:underline">
              clear
            </button>
          </p>
          <ActionButton
            needs="restore"
            size="sm"
            variant="primary"
            className="ml-auto"
            refusal={noRestore}
            busy={busy}
            onClick={() => void restoreSelected()}
            data-tip="Puts them back into the store unchanged; nothing is sent"
          >
            Restore {plural(selected.length, "event")}
          </ActionButton>
        </section>
      )}
    </div>
  );
}

function without({ operation, ...rest }: ArchiveFilter): ArchiveFilter {
  return rest;
}

/** The restriction to one removal, which other pages link to, and the way to take all of it back. */
function OfRemoval({
  operation,
  noRestore,
  onAny,
}: {
  operation: string;
  noRestore: string | null;
  onAny: () => void;
}) {
  const [restoring, setRestoring] = useState(false);
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 px-3 pb-2">
      <Button
        size="sm"
        aria-label={`Remove the filter for the removal ${operation}`}
        data-tip={`${operation}\nclick to remove`}
        onClick={onAny}
      >
        <span className="text-faint">removal</span>
        <span className="font-mono text-sm">{shortenId(operation)}</span>
        <X size={12} aria-hidden />
      </Button>
      <TextLink href={`/operations/${operation}`}>View the removal</TextLink>
      <ActionButton needs="restore" size="sm" refusal={noRestore} onClick={() => setRestoring(true)}>
        Restore all its events…
      </ActionButton>
      {restoring ? <RestoreRemovalDialog operation={operation} onClose={() => setRestoring(false)} /> : null}
    </div>
  );
}

/** Three different sentences: no archive is configured, nothing was removed, or the filter hides all. */
function Nothing({ filter, configured }: { filter: ArchiveFilter; configured: boolean }) {
  if (Object.keys(filter).length > 0) {
    const { eventId, aggregateId } = filter;
    return (
      <EmptyState
        title="No archived event matches"
        action={
          <>
            {eventId === undefined && aggregateId === undefined ? null : (
              <LinkButton
                href={eventsHref({
                  ...(eventId === undefined ? {} : { eventId: [eventId] }),
                  ...(aggregateId === undefined ? {} : { aggregateId: [aggregateId] }),
                })}
              >
                Look in Events
              </LinkButton>
            )}
            <Button onClick={() => setAddress({})}>Show the whole archive</Button>
          </>
        }
      >
        Only exact matches are found. Restored events are back in Events.
      </EmptyState>
    );
  }
  if (!configured) {
    return (
      <EmptyState title="There is no archive yet">
        <NoArchive what="removed" />
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title="The archive is empty"
      action={<LinkButton href={eventsHref({ status: ["IGNORED"] })}>Ignored events</LinkButton>}
    >
      Events that are IGNORED or CONFIRMED can be removed from the store: select them in Events. Events whose retention
      has passed expire. Both are kept here and can be restored unchanged.
    </EmptyState>
  );
}

/** The boxes of the rows that are shown: the page has rows for a wide window and cards for a phone. */
function boxes(): HTMLInputElement[] {
  const all = document.querySelectorAll<HTMLInputElement>("input[data-archived]");
  return [...all].filter((box) => box.offsetParent !== null);
}

function focusedBox(): HTMLInputElement | null {
  return boxes().find((box) => box === document.activeElement) ?? null;
}

function focusRow(step: number): void {
  const all = boxes();
  const focused = focusedBox();
  const at = focused === null ? (step > 0 ? 0 : all.length - 1) : all.indexOf(focused) + step;
  all[Math.min(Math.max(at, 0), all.length - 1)]?.focus();
}
