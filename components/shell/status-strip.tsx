"use client";

import Link from "next/link";
import { Shape } from "@/components/ui/shape";
import { Health } from "@/components/ui/state-badge";
import { useNow, useZone } from "@/lib/browser/clock-zone";
import { lastAnswerMs, useFreshness } from "@/lib/browser/freshness";
import { useStatus } from "@/lib/browser/status";
import type { StatusOut } from "@/lib/contract/stats";
import { formatAgo, formatClock, formatRate, plural } from "@/lib/core/format";
import { approvalsShown, gaugeLevel, lanesInOrder, problemsOf, workerHealth } from "./status-view";

type Lane = StatusOut["lanes"][number];

/** Five bars that fill with the share of the set rate in use. */
function LaneGauge({ lane }: { lane: Lane }) {
  const level = gaugeLevel(lane);
  const now = lane.ratePerSecondNow === null ? "?" : formatRate(lane.ratePerSecondNow);
  const set = lane.ratePerSecondSet === null ? "no limit" : formatRate(lane.ratePerSecondSet).replace("/s", "");
  return (
    <Link
      href="/targets"
      prefetch={false}
      className="flex items-center gap-1.5 whitespace-nowrap hover:text-ink"
      data-tip={`${lane.lane} lane: ${now} of the set rate (${set})`}
    >
      <span className="hidden md:inline">{lane.lane === "slow" ? "slow lane" : "main"}</span>
      <span className="md:hidden">{lane.lane}</span>
      <span aria-hidden data-bar className="hidden gap-px sm:flex">
        {[1, 2, 3, 4, 5].map((bar) => (
          <span key={bar} className={`h-2.5 w-1 rounded-[1px] ${bar <= level ? "bg-queued" : "bg-line-strong"}`} />
        ))}
      </span>
      <span className="text-ink">{now}</span>
      <span className="hidden md:inline">{lane.ratePerSecondSet === null ? set : `of ${set}`}</span>
    </Link>
  );
}

/** The present flow and the health of the parts of Parkade, on every page. */
export function StatusStrip() {
  const { data, error } = useStatus();
  const level = useFreshness();
  const now = useNow();
  const zone = useZone();
  if (!data) {
    return (
      <section aria-label="Status" className={STRIP}>
        {error ? <Health ok={false} word="Parkade does not answer" /> : <span>Reading the status…</span>}
      </section>
    );
  }
  const asOf = lastAnswerMs() || Date.parse(data.asOf);
  const worker = workerHealth(data.worker);
  const approvals = approvalsShown(data);
  // Old data cannot show health.
  const old = level !== "fresh";
  return (
    <section aria-label="Status" className={STRIP}>
      <div className={`flex min-w-0 items-center gap-4 ${old ? "grayscale" : ""}`}>
        {lanesInOrder(data.lanes).map((lane) => (
          <LaneGauge key={lane.lane} lane={lane} />
        ))}
        <Link href="/redrives?state=RUNNING" prefetch={false} className="truncate hover:text-ink">
          {data.redrivesRunning === null ? (
            "redrives ?"
          ) : (
            <>
              <span className={data.redrivesRunning > 0 ? "text-queued" : undefined}>{data.redrivesRunning}</span>
              <span className="hidden md:inline"> {data.redrivesRunning === 1 ? "redrive" : "redrives"}</span> running
            </>
          )}
        </Link>
        {approvals ? (
          <Link href="/approvals" prefetch={false} className="truncate text-warning hover:underline">
            {approvals.count} {approvals.count === 1 ? "waits" : "wait"}
            {/* One text: a phone shows its count alone, a screen reader has it all. */}
            <span className="max-md:sr-only"> for {approvals.what}</span>
          </Link>
        ) : null}
      </div>
      {old ? null : <Problems status={data} />}
      <div className="ml-auto flex shrink-0 items-center gap-3">
        {old ? (
          <span
            className={level === "stale" ? "text-danger" : "text-warning"}
            data-tip={`last answer at ${formatClock(asOf, zone)}`}
          >
            no answer, last one {now === 0 ? "" : formatAgo(asOf, now)}
          </span>
        ) : null}
        <span
          data-tip={`${worker.detail}${data.worker?.lastSeenAt && now > 0 ? `, last seen ${formatAgo(Date.parse(data.worker.lastSeenAt), now)}` : ""}`}
        >
          <Health ok={worker.ok} unknown={worker.unknown || old} word="worker" />
        </span>
        <span data-tip={`queue on ${data.queue.backend}: ${data.queue.ok ? "answers" : "does not answer"}`}>
          <Health ok={data.queue.ok} unknown={old} word={data.queue.backend === "redis" ? "redis" : "queue"} />
        </span>
        <span
          className="hidden md:inline"
          data-tip={`PostgreSQL ${data.store.ok ? "answers" : "does not answer"}\nas of ${formatClock(asOf, zone)}`}
        >
          <Health ok={data.store.ok} unknown={old && data.store.ok} word="store" />
        </span>
        <span className="sr-only">{plural(data.worker?.alive ?? 0, "worker")} alive</span>
      </div>
    </section>
  );
}

/** Problems that would otherwise show on their own page only. */
function Problems({ status }: { status: StatusOut }) {
  return problemsOf(status).map(({ key, words, href }) => (
    <Link
      key={key}
      href={href}
      prefetch={false}
      data-tip={words}
      className="flex min-w-0 items-center gap-1 truncate text-danger hover:underline"
    >
      <Shape name="triangle" className="shrink-0" />
      <span className="truncate">{words}</span>
    </Link>
  ));
}

const STRIP =
  "flex h-7 items-center gap-4 overflow-hidden border-t border-line bg-canvas px-3 text-sm text-muted whitespace-nowrap";
