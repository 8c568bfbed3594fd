"use client";

import { useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { useEffect, useState } from "react";
import { redriveTitle } from "@/components/redrive/redrive-title";
import { refusalSummary } from "@/components/redrive/refusal-words";
import { Button } from "@/components/ui/button";
import { useStatus } from "@/lib/observe/health/status.browser";
import { answeredAtMs } from "@/lib/platform/browser/changes.browser";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { useRunningRedrives } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { useHoldsInToasts } from "@/lib/redrive/request/holds.browser";
import { HoldCountdown } from "./hold-countdown";
import { undoHeld } from "./undo-held";

/** Redrives looked through for holds: the newest ones that are not over. A hold lasts for seconds. */
const LOOKED_AT = 50;

/** The redrives that can still be undone, below every page: the hold is the server's, so the bar survives a reload. */
export function HeldRedrives() {
  const status = useStatus();
  const some = (status.data?.redrivesRunning ?? 0) > 0;
  const { data } = useRunningRedrives(LOOKED_AT, some);
  const inToasts = useHoldsInToasts();
  // While none runs none is read: what was read last is out of date then.
  const running = some ? (data?.items ?? []) : [];
  const held = running.filter((redrive) => isHeld(redrive) && !inToasts.has(redrive.id));
  if (held.length === 0) return null;
  return (
    <section aria-label="Redrives that can be undone">
      <ul className="grid border-t border-line-strong bg-raised">
        {held.map((redrive) => (
          <Held key={redrive.id} redrive={redrive} untilMs={answeredAtMs(data!) + (redrive.holdLeftMs ?? 0)} />
        ))}
      </ul>
    </section>
  );
}

/** A set that is still being frozen can be undone too. */
function isHeld({ state, holdLeftMs, holdUntil, mode, waitsFor }: RedriveOut): boolean {
  // A redrive that waits for an approval, a time or a breaker outlives its hold: its page says so.
  return (
    mode === "deliver" && waitsFor.length === 0 && (holdLeftMs !== null || (state === "PLANNING" && holdUntil !== null))
  );
}

function Held({ redrive, untilMs }: { redrive: RedriveOut; untilMs: number }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const planning = redrive.state === "PLANNING";
  const over = useOver(untilMs) && !planning;
  const undo = async () => {
    setBusy(true);
    await undoHeld(client, redrive.id);
    setBusy(false);
  };
  if (over) return null;
  const refused = refusalSummary(redrive.refusedByReason);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5">
      <Link href={`/redrives/${redrive.id}`} prefetch={false} className="max-w-80 truncate font-medium hover:underline">
        {redriveTitle(redrive)}
      </Link>
      <span className="text-muted">
        {planning
          ? `Preparing its events: ${formatNumber(redrive.total)} so far`
          : `${plural(redrive.open, "event")}${redrive.canary ? ", with a canary" : ""}`}
        {refused === "" ? null : `; refused: ${refused}`}
      </span>
      {planning ? null : (
        <>
          <HoldProgress untilMs={untilMs} holdMs={holdMsOf(redrive)} />
          <span className="text-sm whitespace-nowrap text-muted">
            <HoldCountdown untilMs={untilMs} />
          </span>
        </>
      )}
      {/* Not an ActionButton: stopping a send is allowed on old data. */}
      <Button needs="redrive" size="sm" className="ml-auto" busy={busy} onClick={() => void undo()}>
        Undo
      </Button>
    </li>
  );
}

function holdMsOf({ createdAt, holdUntil }: RedriveOut): number {
  return holdUntil === null ? 0 : Math.max(1, Date.parse(holdUntil) - Date.parse(createdAt));
}

const STEP_MS = 100;

/** The hold that is left, as a bar that becomes shorter; with reduced motion it stays still, and the text counts. */
function HoldProgress({ untilMs, holdMs }: { untilMs: number; holdMs: number }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), STEP_MS);
    return () => clearInterval(timer);
  }, []);
  const share = Math.min(1, Math.max(0, (untilMs - now) / holdMs));
  return (
    <div
      role="progressbar"
      aria-label="Time left to undo"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      data-bar
      className="order-last h-2 basis-full overflow-hidden rounded-sm bg-line sm:order-none sm:min-w-24 sm:flex-1 sm:basis-0"
    >
      <div className="h-full bg-queued" style={{ width: `${share * 100}%` }} />
    </div>
  );
}

function useOver(untilMs: number): boolean {
  const [over, setOver] = useState(() => Date.now() >= untilMs);
  useEffect(() => {
    const leftMs = untilMs - Date.now();
    setOver(leftMs <= 0);
    if (leftMs <= 0) return;
    const timer = setTimeout(() => setOver(true), leftMs);
    return () => clearTimeout(timer);
  }, [untilMs]);
  return over;
}
