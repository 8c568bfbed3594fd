"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { whyNotRevise } from "@/components/events/action-rules";
import { HeadersView } from "@/components/events/page/headers-view";
import { PayloadView } from "@/components/events/payload/payload-view";
import { RevealButton, useRevealRevisions } from "@/components/guard/masking/reveal";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Select } from "@/components/ui/select";
import { Shape, type ShapeName } from "@/components/ui/shape";
import { Skeleton } from "@/components/ui/skeleton";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { failureToast, showToast } from "@/components/ui/toast";
import type { EventDetail } from "@/lib/events/events.shapes";
import { formatBytes, plural, shortenId } from "@/lib/platform/plain/format.pure";
import type { RevisionCause } from "@/lib/repair/revisions/revision.pure";
import { restoreRevision, useRevision, useRevisions } from "@/lib/repair/revisions/revisions.browser";
import type { RevisionOut } from "@/lib/repair/revisions/revisions.shapes";
import { usePageParam } from "@/lib/selection/filter/filter-url.browser";
import { RevisionDiff } from "./revision-diff";

const ReasonDialog = lazily(() => import("@/components/ui/reason-dialog"), "ReasonDialog");

const CAUSES: Record<RevisionCause, { shape: ShapeName; colour: string; word: string }> = {
  arrived: { shape: "disc", colour: "text-pending", word: "arrived" },
  bounce: { shape: "return", colour: "text-bounced", word: "bounced" },
  edit: { shape: "square", colour: "text-accent", word: "edited" },
  mend: { shape: "half", colour: "text-cooling", word: "mended" },
};

/** The states of an event's bytes: any can be looked at, compared with any other, and made current again. */
export function RevisionsView({ event }: { event: EventDetail }) {
  const read = useRevisions(event.id, event.revision);
  const [restoring, setRestoring] = useState<RevisionOut | null>(null);
  const items = read.data?.items ?? [];
  const { shown, other, show } = useShown(items);
  if (read.isError && items.length === 0) return <ErrorPanel error={read.error} onRetry={() => void read.refetch()} />;
  if (!read.data) {
    return (
      <div role="status" aria-label="Loading" className="grid gap-3 p-4">
        <Skeleton className="w-2/3" />
        <Skeleton className="w-1/2" />
      </div>
    );
  }
  return (
    <div className="grid gap-3 px-3 py-3">
      <p className="text-muted">
        The first arrival is always kept. Each edit or mend, and each bounce or repeated arrival with a different
        payload, adds a revision; the current one is what the next redrive sends.
        {read.data.total > items.length ? ` The newest ${items.length} of ${read.data.total} are listed.` : null}
      </p>
      <ol aria-label="Revisions" className="grid gap-px overflow-hidden rounded-md border border-line bg-line">
        {items.map((item) => (
          <li
            key={item.revision}
            className={classNames(
              "grid gap-1 px-3 py-2",
              shown === item.revision || other === item.revision ? "bg-selected" : "bg-surface",
            )}
          >
            <Line item={item} />
            <div className="flex flex-wrap gap-1.5">
              <Button
                size="sm"
                aria-pressed={shown === item.revision && other === null}
                onClick={() => show(shown === item.revision && other === null ? null : item.revision, null)}
              >
                View
              </Button>
              {items.length > 1 ? (
                <Button
                  size="sm"
                  aria-pressed={other !== null && (shown === item.revision || other === item.revision)}
                  onClick={() => {
                    const against = comparedWith(item, items);
                    show(Math.max(item.revision, against), Math.min(item.revision, against));
                  }}
                >
                  Compare
                </Button>
              ) : null}
              {item.current ? null : <RestoreButton event={event} onRestore={() => setRestoring(item)} />}
            </div>
          </li>
        ))}
      </ol>
      {shown === null ? null : other === null ? (
        <Viewed eventId={event.id} revision={shown} />
      ) : (
        <Compared eventId={event.id} items={items} after={shown} before={other} onChange={show} />
      )}
      {restoring ? <RestoreDialog event={event} item={restoring} onClose={() => setRestoring(null)} /> : null}
    </div>
  );
}

/** The revisions that the address names: one to look at, or `other` as the earlier side of a comparison. */
function useShown(items: readonly RevisionOut[]) {
  const [shown, setShown] = usePageParam("revision");
  const [other, setOther] = usePageParam("with");
  const numberOf = (text: string | null) => items.find(({ revision }) => String(revision) === text)?.revision ?? null;
  const textOf = (revision: number | null) => (revision === null ? null : String(revision));
  return {
    shown: numberOf(shown),
    other: numberOf(other),
    show: (revision: number | null, against: number | null) => {
      setShown(textOf(revision));
      setOther(textOf(against));
    },
  };
}

/** The revision that an item is compared with first: its base, else the current one, else any other. */
function comparedWith(item: RevisionOut, items: readonly RevisionOut[]): number {
  if (item.base !== null) return item.base;
  const others = items.filter(({ revision }) => revision !== item.revision);
  return (others.find(({ current }) => current) ?? others[0]!).revision;
}

function RestoreButton({ event, onRestore }: { event: EventDetail; onRestore: () => void }) {
  return (
    <ActionButton
      needs="edit"
      size="sm"
      refusal={whyNotRevise(event)}
      data-tip="Make it the current revision again"
      onClick={onRestore}
    >
      Restore…
    </ActionButton>
  );
}

function Line({ item }: { item: RevisionOut }) {
  const { shape, colour, word } = CAUSES[item.cause];
  const [latest] = item.sentBy;
  return (
    <div className="grid gap-0.5">
      <p className="flex flex-wrap items-baseline gap-x-3">
        <span className={classNames("inline-flex items-center gap-1.5", colour)}>
          <Shape name={shape} />
          <span className="font-medium">Revision {item.revision}</span> {word}
        </span>
        {item.current ? <span className="rounded-sm border border-ok px-1 text-xs text-ok">current</span> : null}
        <span className="text-muted">
          {item.actor ? `${item.actor} · ` : null}
          <TimeAgo at={item.at} />
          {item.base === null ? null : ` · from revision ${item.base}`} · {formatBytes(item.bytes)}
        </span>
        <span className="text-muted">
          {item.sends === 0 ? "never sent" : `sent ${plural(item.sends, "time")}`}
          {latest ? (
            <>
              {", last by "}
              <TextLink href={`/redrives/${latest.redriveId}`} className="font-mono text-sm">
                {shortenId(latest.redriveId, 4, 4)}
              </TextLink>
            </>
          ) : null}
        </span>
        {item.operationId ? <TextLink href={`/operations/${item.operationId}`}>view mend</TextLink> : null}
      </p>
      {item.reason ? <p className="line-clamp-3 text-muted wrap-anywhere">“{item.reason}”</p> : null}
    </div>
  );
}

function Viewed({ eventId, revision }: { eventId: string; revision: number }) {
  const { data, error, refetch } = useRevision(eventId, revision);
  const { details, reveal } = useRevealRevisions(eventId, [revision]);
  if (error) return <ErrorPanel error={error} onRetry={() => void refetch()} inline />;
  if (!data) return <Skeleton className="h-40 w-full" />;
  const { body, headers } = details[0] ?? data;
  return (
    <section aria-label={`Revision ${revision}`} className="overflow-hidden rounded-md border border-line">
      <div className="flex items-center px-3 py-1.5">
        <h2 className="mr-auto font-medium">Revision {revision}</h2>
        {body.masked ? <RevealButton reveal={reveal} /> : null}
      </div>
      <PayloadView key={revision} eventId={eventId} body={body} revision={revision} />
      <div className="border-t border-line">
        <HeadersView headers={headers} />
      </div>
    </section>
  );
}

function Compared(props: {
  eventId: string;
  items: RevisionOut[];
  before: number;
  after: number;
  onChange: (after: number, before: number) => void;
}) {
  const { eventId, items, before, after, onChange } = props;
  const options = items.map(({ revision, cause }) => ({
    value: String(revision),
    label: `revision ${revision}, ${CAUSES[cause].word}`,
  }));
  return (
    <section aria-label="Comparison" className="grid gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="font-medium">Compare</h2>
        <Select
          aria-label="The earlier side"
          options={options}
          value={String(before)}
          onChange={(event) => onChange(after, Number(event.target.value))}
        />
        <span className="text-muted">with</span>
        <Select
          aria-label="The later side"
          options={options}
          value={String(after)}
          onChange={(event) => onChange(Number(event.target.value), before)}
        />
      </div>
      <RevisionDiff eventId={eventId} before={before} after={after} />
    </section>
  );
}

function RestoreDialog({ event, item, onClose }: { event: EventDetail; item: RevisionOut; onClose: () => void }) {
  const client = useQueryClient();
  const { id, revision: base } = event;
  const undo = async () => {
    try {
      await restoreRevision(client, id, {
        base: item.revision,
        revision: base,
        reason: `undone: revision ${item.revision} had been restored`,
      });
      void showToast({ title: `Revision ${base} is the current one again`, tone: "success" });
    } catch (error) {
      failureToast("Undo failed", error);
    }
  };
  return (
    <ReasonDialog
      needs="edit"
      title={`Restore revision ${item.revision}?`}
      description={`The next redrive then sends it, in place of revision ${base}. No revision is lost.`}
      size="sm"
      verb={`Restore revision ${item.revision}`}
      reasonHint="Recorded in the audit log."
      onClose={onClose}
      onSubmit={async (reason) => {
        await restoreRevision(client, id, { base, revision: item.revision, reason });
        return {
          title: `Revision ${item.revision} is the current one`,
          tone: "success",
          action: { label: "Undo", onSelect: () => void undo() },
        };
      }}
    />
  );
}
