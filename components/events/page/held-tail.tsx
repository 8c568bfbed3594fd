"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { redriveAtOnce } from "@/components/redrive/one-click/one-click";
import { ActionButton } from "@/components/ui/action-button";
import { Button, LinkButton } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { failureToast } from "@/components/ui/toast";
import type { EventDetail } from "@/lib/events/events.shapes";
import { useSkip, useTail } from "@/lib/order/tails/tails.browser";
import type { TailOut } from "@/lib/order/tails/tails.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";

const ReasonDialog = lazily(() => import("@/components/ui/reason-dialog"), "ReasonDialog");

type Head = NonNullable<TailOut["head"]>;
type Skipped = TailOut["skipped"][number];

/** The versions of the tail that are named in their order; the rest is counted. */
const NAMED_MAX = 12;

type Named = Pick<EventDetail, "id" | "source" | "aggregateType" | "aggregateId">;

/** The head of the event's aggregate: why it holds, what it holds, and the ways out. */
export function HeldTail({ event }: { event: Named }) {
  const { data: tail, error, refetch } = useTail(event.id);
  if (error && !tail) return <ErrorPanel error={error} inline onRetry={() => void refetch()} />;
  if (!tail || (tail.skipped.length === 0 && (tail.head === null || tail.held.count === 0))) return null;
  return (
    <section aria-label="Held events" className="mx-3 mb-3 grid gap-2 rounded-md border border-line p-3">
      {tail.skipped.map((skipped) => (
        <SkippedHead key={skipped.id} event={skipped} />
      ))}
      {tail.held.count === 0 ? null : <Tail event={event} tail={tail} />}
    </section>
  );
}

function Tail({ event, tail: { head, why, held } }: { event: Named; tail: TailOut }) {
  const client = useQueryClient();
  const router = useRouter();
  const [skipping, setSkipping] = useState(false);
  const [passing, setPassing] = useState(false);
  const [busy, setBusy] = useState(false);
  const events = plural(held.count, "later event");
  const ids = held.events.map((event) => event.id);
  const named = held.events.slice(0, NAMED_MAX).map(({ version }) => `v${version}`);
  const more = held.count - named.length;
  const sent = ids.length < held.count ? `the first ${formatNumber(ids.length)}` : events;
  const release = async (reason?: string) => {
    setBusy(true);
    const past = head === null ? {} : { earlier: "pass" as const, reason };
    await redriveAtOnce(client, { ids }, null, { open: router.push, onAsk: () => router.push("/events") }, past);
    setBusy(false);
  };
  return (
    <>
      <p>
        {head === null ? (
          <>Nothing holds the {events} any more.</>
        ) : (
          <>
            <strong className="font-medium">
              v{head.version} holds{" "}
              <TextLink href={heldHref(event)} className="underline">
                {events}
              </TextLink>
            </strong>
            : {why}.
          </>
        )}
      </p>
      <p className="text-muted">
        In this order: <span className="font-mono">{named.join(", ")}</span>
        {more > 0 ? ` and ${formatNumber(more)} more` : ""}.
        {head === null ? null : ` Once one of them is confirmed, v${head.version} can no longer be sent.`}
      </p>
      <div className="flex flex-wrap gap-2">
        {head === null || head.id === event.id ? null : (
          <LinkButton size="sm" href={`/events/${head.id}?edit=1`} prefetch={false}>
            Mend v{head.version}
          </LinkButton>
        )}
        {head === null ? null : (
          <Button needs="redrive" size="sm" onClick={() => setSkipping(true)}>
            Skip v{head.version}…
          </Button>
        )}
        <ActionButton
          needs="redrive"
          size="sm"
          busy={busy}
          onClick={() => (head === null ? void release() : setPassing(true))}
        >
          {head === null ? "Redrive" : "Send out of order:"} {sent}
          {head === null ? "" : "…"}
        </ActionButton>
      </div>
      {passing && head ? (
        <ReasonDialog
          needs="redrive"
          title={`Send ${sent} ahead of v${head.version}?`}
          description={`Once one of them is confirmed, v${head.version} can no longer be sent.`}
          size="sm"
          variant="danger"
          verb="Send out of order"
          onClose={() => setPassing(false)}
          onSubmit={(reason) => release(reason)}
        />
      ) : null}
      {skipping && head ? <SkipDialog head={head} held={held.count} onClose={() => setSkipping(false)} /> : null}
    </>
  );
}

/** The held events of an aggregate in the list. */
const heldHref = ({ source, aggregateType, aggregateId }: Named) =>
  eventsHref({
    source: [source],
    ...(aggregateType && { aggregateType: [aggregateType] }),
    aggregateId: [aggregateId ?? ""],
    status: ["HELD"],
  });

function SkipDialog({ head, held, onClose }: { head: Head; held: number; onClose: () => void }) {
  const skip = useSkip();
  return (
    <ReasonDialog
      needs="redrive"
      title={`Skip v${head.version}?`}
      description={`${plural(held, "later event")} may be sent without it. Nothing is sent now.`}
      size="sm"
      verb={`Skip v${head.version}`}
      onClose={onClose}
      onSubmit={async (reason) => {
        await skip.mutateAsync({ id: head.id, skip: true, reason });
        return {
          title: `v${head.version} skipped`,
          detail: "It stays parked and no longer holds later versions.",
          action: { label: "Undo", onSelect: () => void undo(skip.mutateAsync, head) },
        };
      }}
    >
      <ul className="list-disc pl-4 text-muted">
        <li>It holds them again when it is edited, is released or bounces, or when the skip is undone.</li>
        <li>Once one of them is confirmed, v{head.version} is superseded and can no longer be sent.</li>
      </ul>
    </ReasonDialog>
  );
}

async function undo(change: ReturnType<typeof useSkip>["mutateAsync"], { id, version }: Pick<Head, "id" | "version">) {
  try {
    await change({ id, skip: false, reason: "undone" });
  } catch (error) {
    failureToast(`v${version} is still skipped`, error);
  }
}

function SkippedHead({ event }: { event: Skipped }) {
  const skip = useSkip();
  const { version, createdBy, createdAt, reason } = event;
  return (
    <div className="flex flex-wrap items-center gap-2">
      <p className="min-w-0 flex-1 basis-64 wrap-anywhere">
        v{version} was skipped by {createdBy}, <TimeAgo at={createdAt} />: {reason}
      </p>
      <ActionButton needs="redrive" size="sm" busy={skip.isPending} onClick={() => void undo(skip.mutateAsync, event)}>
        Undo the skip of v{version}
      </ActionButton>
    </div>
  );
}
