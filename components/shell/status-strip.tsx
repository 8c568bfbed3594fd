"use client";

import Link from "next/link";
import { Shape } from "@/components/ui/shape";
import { Health } from "@/components/ui/state-badge";
import { useMe } from "@/lib/guard/viewer/me.browser";
import { useStatus } from "@/lib/observe/health/status.browser";
import type { StatusOut } from "@/lib/observe/stats/stats.shapes";
import { useNow, useZone } from "@/lib/platform/browser/clock-zone.browser";
import { lastAnswerMs, useFreshness } from "@/lib/platform/browser/freshness.browser";
import { formatAgo, formatClock, plural } from "@/lib/platform/plain/format.pure";
import { approvalsShown, gaugeLevel, lanesInOrder, laneWords, problemsOf, workerHealth } from "./status-view";

type Lane = StatusOut["lanes"][number];

/** Five bars that fill with the share of the set rate in use. */
function LaneGauge({ lane }: { lane: Lane }) {
  const level = gaugeLevel(lane);
  const { now, of, tip } = laneWords(lane);
  return (
    <Link
      href="/targets"
      prefetch={false}
      className="flex items-center gap-1.5 whitespace-nowrap hover:text-ink"
      data-tip={`${lane.lane} lane: ${tip}`}
    >
      <span className="hidden md:inline">{lane.lane === "slow" ? "slow lane" : "main"}</span>
      <span className="md:hidden">{lane.lane}</span>
      <span aria-hidden data-bar className="hidden gap-px sm:flex">
        {[1, 2, 3, 4, 5].map((bar) => (
          <span key={bar} className={`h-2.5 w-1 rounded-[1px] ${bar <= level ? "bg-queued" : "bg-line-strong"}`} />
        ))}
      </span>
      <span className="text-ink">{now}</span>
      {of ? <span className="hidden md:inline">{of}</span> : null}
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
        {error ? <Health ok={false} word="Parkade is not responding" /> : <span>Reading the status…</span>}
      </section>
    );
  }
  const asOf = lastAnswerMs() || Date.parse(data.asOf);
  const approvals = approvalsShown(data);
  const lamps = lampsOf(data, { old: level !== "fresh", now, asOf: formatClock(asOf, zone) });
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
      <OpenToAll />
      <div className="ml-auto flex shrink-0 items-center gap-3">
        {old ? (
          <span
            className={level === "stale" ? "text-danger" : "text-warning"}
            data-tip={`last answer at ${formatClock(asOf, zone)}`}
          >
            not responding, last response {now === 0 ? "" : formatAgo(asOf, now)}
          </span>
        ) : null}
        {lamps.map((lamp) => (
          // A phone has no room for all: it names what is not well.
          <span key={lamp.word} className={isWell(lamp) ? "hidden md:inline" : undefined} data-tip={lamp.tip}>
            <Health ok={lamp.ok} unknown={lamp.unknown} word={lamp.word} />
          </span>
        ))}
        {lamps.every(isWell) ? (
          <span className="md:hidden">
            <Health ok word="all up" />
          </span>
        ) : null}
        <span className="sr-only">{plural(data.worker?.alive ?? 0, "worker")} running</span>
      </div>
    </section>
  );
}

/** Said on every page: whoever reaches this machine's port may do everything. */
function OpenToAll() {
  const { data: me } = useMe();
  if (!me?.signIn.open || me.means !== "local") return null;
  const words = me.signIn.mode === "off" ? "no sign-in: a proxy controls access" : "no sign-in on this machine";
  return (
    <Link href="/people" prefetch={false} data-tip={words} className="min-w-0 truncate hover:text-ink hover:underline">
      <span className="md:hidden">no sign-in</span>
      <span className="max-md:hidden">{words}</span>
    </Link>
  );
}

type Lamp = { word: string; ok: boolean; unknown: boolean; tip: string };

const isWell = ({ ok, unknown }: Lamp) => ok && !unknown;

function lampsOf(data: StatusOut, { old, now, asOf }: { old: boolean; now: number; asOf: string }): Lamp[] {
  const worker = workerHealth(data.worker);
  const seenAt = data.worker?.lastSeenAt;
  const seen = seenAt && now > 0 ? `, last seen ${formatAgo(Date.parse(seenAt), now)}` : "";
  const answers = (ok: boolean) => (ok ? "responding" : "not responding");
  const { queue, store } = data;
  return [
    { word: "worker", ok: worker.ok, unknown: worker.unknown || old, tip: `${worker.detail}${seen}` },
    {
      word: queue.backend === "redis" ? "redis" : "queue",
      ok: queue.ok,
      unknown: old,
      tip: `queue on ${queue.backend}: ${answers(queue.ok)}`,
    },
    {
      word: "store",
      ok: store.ok,
      unknown: old && store.ok,
      tip: `PostgreSQL ${answers(store.ok)}\nas of ${asOf}`,
    },
  ];
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
