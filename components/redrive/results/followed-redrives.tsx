"use client";

import { useQueries } from "@tanstack/react-query";
import { X } from "lucide-react";
import Link from "next/link";
import { usePathname } from "next/navigation";
import { useEffect, useRef, useState } from "react";
import { redriveTitle } from "@/components/redrive/redrive-title";
import { SegmentedBar } from "@/components/redrive/segmented-bar";
import { Button, IconButton } from "@/components/ui/button";
import { NotifyChoice } from "@/components/ui/notify-choice";
import { Shape, type ShapeName } from "@/components/ui/shape";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { keys } from "@/lib/platform/browser/keys.browser";
import { notify, useNotices } from "@/lib/platform/browser/notices.browser";
import { useVisible } from "@/lib/platform/browser/visible.browser";
import { followedRedrives, readRedrive } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { isFinal } from "@/lib/states/redrive-state.pure";
import { groupWords, isUndone, type Result, resultOf } from "./result-words";

const POLL_MS = 2_000;
/** How long the result of a redrive without failures stays. */
const ENDED_MS = 30_000;
/** More are one line, which opens. */
const APART_MAX = 2;

const LOOKS: Record<Result["tone"], { shape: ShapeName; colour: string }> = {
  running: { shape: "arrow", colour: "text-queued" },
  still: { shape: "pause", colour: "text-warning" },
  ended: { shape: "check", colour: "text-confirmed" },
  failed: { shape: "triangle", colour: "text-danger" },
};

/**
 * The redrives that were started in this browser, below every page until each is dismissed or has ended without failures: they take room of their own, so that they
 * cover no toast with Undo and no bar of a phone. A redrive in its hold is shown by the bar with Undo, and one whose page is open by its page.
 */
export function FollowedRedrives() {
  const ids = followedRedrives.useIds();
  const notices = useNotices();
  const pathname = usePathname();
  const [open, setOpen] = useState(false);
  const redrives = useFollowed(ids, notices.state === "on");
  useEndNotices(redrives, notices.state === "on");
  useForget(redrives, pathname);
  const shown = redrives.filter((redrive) => !isHeldNow(redrive) && pathname !== `/redrives/${redrive.id}`);
  if (shown.length === 0) return null;
  const grouped = shown.length > APART_MAX;
  const running = shown.some(({ state }) => !isFinal(state));
  return (
    <section aria-label="Results" className="border-t border-line-strong bg-raised">
      {/* Progress is not read aloud; an end and a standstill are. */}
      <p role="status" className="sr-only">
        {shown
          .filter((redrive) => resultOf(redrive).tone !== "running")
          .map((redrive) => `${redriveTitle(redrive)}: ${resultOf(redrive).words}`)
          .join(". ")}
      </p>
      {grouped ? (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5">
          <Button size="sm" variant="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
            {groupWords(shown.map(resultOf))}
          </Button>
          {running ? <NotifyChoice notices={notices} /> : null}
          <IconButton
            size="sm"
            label="Dismiss all results"
            onClick={() => followedRedrives.unfollow(shown.map(({ id }) => id))}
          >
            <X size={12} aria-hidden />
          </IconButton>
        </div>
      ) : null}
      {grouped && !open ? null : (
        <ul className="max-h-40 overflow-y-auto">
          {shown.map((redrive, index) => (
            <Row key={redrive.id} redrive={redrive}>
              {index === 0 && !grouped && running ? <NotifyChoice notices={notices} /> : null}
            </Row>
          ))}
        </ul>
      )}
    </section>
  );
}

function Row({ redrive, children }: { redrive: RedriveOut; children: React.ReactNode }) {
  const { tone, words } = resultOf(redrive);
  const { shape, colour } = LOOKS[tone];
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5">
      <Shape name={shape} className={`size-3 shrink-0 ${colour}`} />
      <Link
        href={`/redrives/${redrive.id}`}
        prefetch={false}
        className="min-w-0 max-w-[70%] truncate font-medium hover:underline sm:max-w-80"
      >
        {redriveTitle(redrive)}
      </Link>
      {isFinal(redrive.state) ? null : (
        <SegmentedBar
          counts={redrive}
          className="order-last basis-full sm:order-none sm:min-w-24 sm:flex-1 sm:basis-0"
        />
      )}
      <span className={`text-sm ${tone === "still" ? "text-warning" : "text-muted"}`}>{words}</span>
      <span className="ml-auto flex items-center gap-2">
        {children}
        <IconButton
          size="sm"
          label={`Dismiss the result of ${redriveTitle(redrive)}`}
          onClick={() => followedRedrives.unfollow([redrive.id])}
        >
          <X size={12} aria-hidden />
        </IconButton>
      </span>
    </li>
  );
}

/** The redrives of these ids that could be read, in their order. */
function useFollowed(ids: string[], inBackground: boolean): RedriveOut[] {
  const reads = useQueries({
    queries: ids.map((id) => ({
      queryKey: keys.redrives.detail(id),
      queryFn: ({ signal }: { signal: AbortSignal }) => readRedrive(id, signal),
      refetchInterval: ({ state }: { state: { data?: RedriveOut | undefined } }) =>
        state.data && isFinal(state.data.state) && state.data.open === 0 ? (false as const) : POLL_MS,
      // A notification is for whoever looks at another tab.
      refetchIntervalInBackground: inBackground,
    })),
  });
  const gone = ids.filter((_, index) => {
    const error = reads[index]?.error;
    return error instanceof ApiError && error.code === "unknown-redrive";
  });
  const goneText = gone.join(",");
  // Another store answers at this address now.
  useEffect(() => {
    if (goneText !== "") followedRedrives.unfollow(goneText.split(","));
  }, [goneText]);
  return reads.flatMap(({ data }) => (data ? [data] : []));
}

/** One notification when a redrive ends, and one each time it begins to stand still; only of what was seen to move before. */
function useEndNotices(redrives: RedriveOut[], on: boolean): void {
  const known = useRef(new Map<string, Result["tone"]>());
  useEffect(() => {
    for (const redrive of redrives) {
      const { tone, words } = resultOf(redrive);
      const before = known.current.get(redrive.id);
      known.current.set(redrive.id, tone);
      if (!on || before === undefined || before === tone || tone === "running" || isUndone(redrive)) continue;
      notify({ title: redriveTitle(redrive), body: words, tag: redrive.id, href: `/redrives/${redrive.id}` });
    }
  }, [redrives, on]);
}

/** What was taken back, and what ended while its page was open, needs no further word. */
function useForget(redrives: RedriveOut[], pathname: string): void {
  const seen = redrives
    .filter((redrive) => isFinal(redrive.state) && (isUndone(redrive) || pathname === `/redrives/${redrive.id}`))
    .map(({ id }) => id)
    .join(",");
  useEffect(() => {
    if (seen !== "") followedRedrives.unfollow(seen.split(","));
  }, [seen]);
  // A success needs no decision, and disappears once somebody had time to read it.
  const visible = useVisible();
  const well = redrives
    .filter((redrive) => resultOf(redrive).tone === "ended")
    .map(({ id }) => id)
    .join(",");
  useEffect(() => {
    if (well === "" || !visible) return;
    const timer = setTimeout(() => followedRedrives.unfollow(well.split(",")), ENDED_MS);
    return () => clearTimeout(timer);
  }, [well, visible]);
}

function isHeldNow({ state, mode, holdLeftMs, holdUntil, waitsFor }: RedriveOut): boolean {
  const holds = (holdLeftMs ?? 0) > 0 || (state === "PLANNING" && holdUntil !== null);
  return !isFinal(state) && mode === "deliver" && waitsFor.length === 0 && holds;
}
