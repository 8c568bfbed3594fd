"use client";

import Link from "next/link";
import { useState } from "react";
import { LongText } from "@/components/redrive/long-text";
import { Button, LinkButton, NextPageButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { ShortId } from "@/components/ui/short-id";
import { SkeletonRows } from "@/components/ui/skeleton";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { eventsHref } from "@/lib/events/filter/filter-read.browser";
import { archiveHref } from "@/lib/keep/archive/archive.browser";
import { useHolds, useLiftHold } from "@/lib/keep/holds/holds.browser";
import type { HoldOut } from "@/lib/keep/holds/holds.shapes";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { holdArchiveFilter, holdFilter, holdLimits, holdOver } from "./hold-words";

const HoldDialog = lazily(() => import("./hold-dialog"), "HoldDialog");

/** The legal holds in force; below them the lifted ones. */
export function HoldsPage() {
  const live = useHolds("live");
  const [placing, setPlacing] = useState(false);
  const items = live.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      <PageHeader
        title="Legal holds"
        meta={live.data ? `${formatNumber(items.length)}${live.hasNextPage ? "+" : ""} in force` : undefined}
        actions={
          <>
            <LinkButton href="/archive">Archive</LinkButton>
            <Button needs="hold" variant="primary" onClick={() => setPlacing(true)}>
              Place a hold…
            </Button>
          </>
        }
      />
      <ReadError read={live} stale={items.length > 0} />
      {live.isPending ? <SkeletonRows rows={4} columns={["w-28", "flex-1", "w-24"]} /> : null}
      {live.isSuccess && items.length === 0 ? (
        <EmptyState
          title="No legal hold is in force"
          action={
            <Button needs="hold" onClick={() => setPlacing(true)}>
              Place a hold…
            </Button>
          }
        >
          While a hold is in force, no event that it covers is removed, expired or forgotten, in the store or in the
          archive. Parkade forbids nothing else: what is covered can be redriven, ignored and edited.
        </EmptyState>
      ) : null}
      <ul aria-label="Legal holds in force" className="grid grid-cols-[minmax(0,1fr)] gap-2 px-3">
        {items.map((hold) => (
          <Hold key={hold.id} hold={hold} />
        ))}
      </ul>
      <NextPageButton read={live}>More holds</NextPageButton>
      {live.isPending ? null : <Lifted />}
      {placing ? <HoldDialog onClose={() => setPlacing(false)} /> : null}
    </>
  );
}

function Over({ hold }: { hold: HoldOut }) {
  const { label, value } = holdOver(hold.scope);
  return (
    <span className="flex max-w-full min-w-0 flex-wrap items-baseline gap-x-1.5">
      <span className="shrink-0 text-muted">{label}</span>
      <ShortId id={value} label={label} head={36} tail={8} />
      <span className="text-muted">{holdLimits(hold.scope)}</span>
      <Window hold={hold} />
    </span>
  );
}

function Window({ hold: { from, to } }: { hold: HoldOut }) {
  if (from === null && to === null) return null;
  return (
    <span className="text-muted">
      first seen{" "}
      {from === null ? null : (
        <>
          from <TimeAgo at={from} />{" "}
        </>
      )}
      {to === null ? null : (
        <>
          before <TimeAgo at={to} />
        </>
      )}
    </span>
  );
}

function Hold({ hold }: { hold: HoldOut }) {
  const [lifting, setLifting] = useState(false);
  const archived = holdArchiveFilter(hold.scope);
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] gap-1 rounded-lg border border-line bg-surface px-3 py-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <Over hold={hold} />
        <TextLink href={eventsHref(holdFilter(hold))}>Events</TextLink>
        {archived === null ? null : <TextLink href={archiveHref(archived)}>In the archive</TextLink>}
        <Button
          needs="hold"
          everySource={hold.scope.source === undefined}
          size="sm"
          className="ml-auto"
          onClick={() => setLifting(true)}
        >
          Lift…
        </Button>
      </div>
      <Why hold={hold} />
      {lifting ? <LiftHoldDialog hold={hold} onClose={() => setLifting(false)} /> : null}
    </li>
  );
}

function Why({ hold }: { hold: HoldOut }) {
  return (
    <>
      <LongText text={hold.reason} />
      <p className="text-sm text-muted wrap-anywhere">
        by {hold.createdBy} · <TimeAgo at={hold.createdAt} /> ·{" "}
        <Link
          href={`/audit?subjectKind=hold&subjectId=${hold.id}`}
          className="touch inline-block min-h-6 hover:text-ink hover:underline"
        >
          audit
        </Link>
      </p>
    </>
  );
}

function LiftHoldDialog({ hold, onClose }: { hold: HoldOut; onClose: () => void }) {
  const lift = useLiftHold();
  const { label, value } = holdOver(hold.scope);
  return (
    <ReasonDialog
      needs="hold"
      everySource={hold.scope.source === undefined}
      title="Lift this legal hold?"
      description="What it covers may be removed, expire and be forgotten again, unless another hold covers it. Nothing is removed by lifting."
      size="sm"
      variant="danger"
      verb="Lift"
      keep="Keep it"
      onClose={onClose}
      onSubmit={async (reason) => {
        await lift.mutateAsync({ id: hold.id, reason });
        return { title: "Lifted the legal hold", tone: "success" };
      }}
    >
      <p className="wrap-anywhere">
        <span className="text-muted">{label}</span> <span className="font-mono text-sm">{value}</span>{" "}
        {holdLimits(hold.scope)}
      </p>
    </ReasonDialog>
  );
}

/** Lifted holds. They are read only after a click. */
function Lifted() {
  const [open, setOpen] = useState(false);
  return (
    <div className="p-3">
      <Button variant="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide" : "Show"} lifted holds
      </Button>
      {open ? <LiftedList /> : null}
    </div>
  );
}

function LiftedList() {
  const lifted = useHolds("ended");
  const items = lifted.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Panel className="mt-2">
      <ReadError read={lifted} />
      {lifted.isPending ? <SkeletonRows rows={3} columns={["w-28", "flex-1", "w-40"]} /> : null}
      {lifted.isSuccess && items.length === 0 ? <p className="px-3 py-4 text-muted">None was lifted yet.</p> : null}
      <ul>
        {items.map((hold) => (
          <li key={hold.id} className="grid grid-cols-[minmax(0,1fr)] gap-1 border-line px-3 py-2 not-first:border-t">
            <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
              <Over hold={hold} />
              <span className="ml-auto text-muted">
                lifted <TimeAgo at={hold.liftedAt} /> by {hold.liftedBy}
              </span>
            </div>
            <Why hold={hold} />
            <p className="wrap-anywhere">
              <span className="text-muted">lifted because: </span>
              {hold.liftReason}
            </p>
          </li>
        ))}
      </ul>
      <NextPageButton read={lifted}>Older</NextPageButton>
    </Panel>
  );
}
