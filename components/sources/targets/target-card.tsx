"use client";

import Link from "next/link";
import { type ReactNode, useState } from "react";
import type { StopOrder } from "@/components/shell/stop/stop-dialog";
import { ContractPanel } from "@/components/sources/contracts/contract-panel";
import { Button } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { lazily } from "@/components/ui/lazily";
import { MenuButton } from "@/components/ui/popup-button";
import { Shape, type ShapeName } from "@/components/ui/shape";
import { TimeAgo } from "@/components/ui/time-ago";
import { useStatus } from "@/lib/observe/health/status.browser";
import { formatDuration, formatNumber, formatRate, formatShare, plural } from "@/lib/platform/plain/format.pure";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import type { PolicyOut, TargetChange } from "@/lib/sources/targets/targets.shapes";
import { type BreakerWord, counterWords, type EngineView, engineView } from "./engine-view";
import { fallbackWords } from "./target-draft";

const TargetDialog = lazily(() => import("./target-dialog"), "TargetDialog");
const BreakerDialog = lazily(() => import("./breaker-dialog"), "BreakerDialog");

const StopDialog = lazily(() => import("@/components/shell/stop/stop-dialog"), "StopDialog");

const BREAKER_LOOKS: Record<BreakerWord, { shape: ShapeName; colour: string; word: string }> = {
  closed: { shape: "disc", colour: "text-ok", word: "CLOSED" },
  "half-open": { shape: "half", colour: "text-pending", word: "HALF-OPEN" },
  open: { shape: "cross", colour: "text-danger", word: "OPEN" },
  none: { shape: "ring", colour: "text-muted", word: "NO BREAKER" },
};

/** One target: live breaker, rate, bulkhead, budget and latency, and the changes that an operator may make. */
export function TargetCard(props: { target: TargetOut; others: readonly string[]; policies: PolicyOut[] | undefined }) {
  const { target, others, policies } = props;
  const [editing, setEditing] = useState(false);
  const [order, setOrder] = useState<NonNullable<TargetChange["breaker"]> | null>(null);
  const [stop, setStop] = useState<StopOrder | null>(null);
  const stopped = useStatus().data?.stops?.some((each) => each.target === target.name) ?? false;
  const engine = engineView(target.engine);
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] content-start gap-3 rounded-lg border border-line bg-surface p-3">
      <div className="flex flex-wrap items-start gap-x-3 gap-y-1">
        <div className="min-w-0 flex-1 basis-48">
          <h2 className="truncate font-mono font-medium" data-tip={target.name}>
            {target.name}
          </h2>
          <p className="text-sm text-muted">
            {target.lane === null ? "named target" : `${target.lane} lane`} of{" "}
            <Link href={`/sources/${encodeURIComponent(target.source)}`} className="hover:text-ink hover:underline">
              {target.source}
            </Link>
          </p>
          <p className="line-clamp-1 text-sm text-muted wrap-anywhere" data-tip={target.address ?? undefined}>
            {target.address ?? <span className="text-warning">no destination: redrives are refused</span>}
          </p>
        </div>
        <div className="flex gap-2">
          <MenuButton
            name={`Breaker of ${target.name}`}
            label="Breaker ▾"
            size="sm"
            entries={[
              {
                id: "open",
                needs: "change-target",
                label: "Hold open…",
                hint: "nothing is sent",
                onSelect: () => setOrder("open"),
              },
              {
                id: "closed",
                needs: "change-target",
                label: "Hold closed…",
                hint: "sends regardless of failures",
                onSelect: () => setOrder("closed"),
              },
              {
                id: "auto",
                needs: "change-target",
                label: "Let it decide…",
                disabled: target.breakerForce === null,
                onSelect: () => setOrder("auto"),
              },
              { kind: "separator", id: "line" },
              {
                id: "reset",
                needs: "change-target",
                label: "Reset…",
                hint: "clears its counts",
                onSelect: () => setOrder("reset"),
              },
            ]}
          />
          <Button
            needs="redrive"
            size="sm"
            variant={stopped ? "secondary" : "danger"}
            aria-label={`${stopped ? "Resume" : "Stop"} sends to ${target.name}`}
            onClick={() => setStop({ stop: !stopped, target: target.name })}
          >
            {stopped ? "Resume…" : "Stop…"}
          </Button>
          <Button needs="change-target" size="sm" onClick={() => setEditing(true)}>
            Edit…
          </Button>
        </div>
      </div>
      <Breaker target={target} engine={engine} stopped={stopped} />
      {engine ? (
        <Meters target={target} engine={engine} />
      ) : (
        <p className="text-sm text-muted">
          rate {target.ratePerSecond === null ? "unlimited" : formatRate(target.ratePerSecond)}, bulkhead{" "}
          {formatNumber(target.bulkhead)}
        </p>
      )}
      <Footer target={target} engine={engine} />
      <ContractPanel target={target} />
      {editing ? (
        <TargetDialog target={target} others={others} policies={policies} onClose={() => setEditing(false)} />
      ) : null}
      {order ? <BreakerDialog target={target} order={order} onClose={() => setOrder(null)} /> : null}
      {stop ? <StopDialog order={stop} onClose={() => setStop(null)} /> : null}
    </li>
  );
}

function Breaker({ target, engine, stopped }: { target: TargetOut; engine: EngineView | null; stopped: boolean }) {
  // An operator's order holds before any worker has reported.
  const state = target.breakerForce ?? engine?.breaker.state;
  if (stopped) {
    return (
      <p className="flex flex-wrap items-center gap-x-2 text-danger">
        <Shape name="cross" />
        <span className="font-mono text-sm">STOPPED</span>
        <span className="text-muted">
          nothing is sent until somebody resumes it{state ? `; its breaker is ${BREAKER_LOOKS[state].word}` : ""}
        </span>
      </p>
    );
  }
  if (state === undefined) {
    return <p className="text-muted">Not used since the workers started</p>;
  }
  const look = BREAKER_LOOKS[state];
  const waitMs = engine?.breaker.waitMs ?? null;
  return (
    <p className={classNames("flex flex-wrap items-center gap-x-2", look.colour)}>
      <Shape name={look.shape} />
      <span className="font-mono text-sm">{look.word}</span>
      <span className="text-muted">
        {target.breakerForce !== null
          ? `held ${target.breakerForce} by an operator`
          : state === "open" && waitMs !== null
            ? `probes in ${formatDuration(waitMs)}`
            : state === "open"
              ? "nothing is sent"
              : state === "half-open"
                ? "probing"
                : state === "none"
                  ? "its policy has none"
                  : "sending"}
      </span>
    </p>
  );
}

function Meters({ target, engine }: { target: TargetOut; engine: EngineView | null }) {
  const { ratePerSecond, sentPerSecondNow } = target;
  const bulkhead = engine?.bulkhead;
  const budget = engine?.budget;
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-3 sm:grid-cols-4">
      <Meter
        name="rate"
        value={sentPerSecondNow === null ? "?" : formatRate(sentPerSecondNow)}
        of={ratePerSecond === null ? "unlimited" : `of ${formatRate(ratePerSecond)}`}
        share={sentPerSecondNow !== null && ratePerSecond !== null ? sentPerSecondNow / ratePerSecond : null}
      />
      <Meter
        name="parallel sends"
        value={bulkhead ? formatNumber(bulkhead.inUse) : "?"}
        of={`of ${formatNumber(bulkhead?.permits ?? target.bulkhead)}${bulkhead && bulkhead.queued > 0 ? `, ${formatNumber(bulkhead.queued)} queued` : ""}`}
        share={bulkhead ? bulkhead.inUse / bulkhead.permits : null}
        warns={bulkhead !== undefined && bulkhead.queued > 0}
      />
      <Meter
        name="retry budget"
        value={budget ? (budget.left === null ? "unlimited" : formatNumber(Math.floor(budget.left))) : "?"}
        of={budget ? `left, ${formatShare(budget.retryRatio)} retries` : "left"}
        share={null}
        warns={budget?.left === 0}
      />
      <Meter
        name="latency"
        value={ms(engine?.latency.p50Ms)}
        of={engine ? `p95 ${ms(engine.latency.p95Ms)}, p99 ${ms(engine.latency.p99Ms)}` : "p50"}
        share={null}
      />
    </dl>
  );
}

function ms(value: number | null | undefined): string {
  return value == null ? "?" : value < 1_000 ? `${formatNumber(value)} ms` : `${(value / 1_000).toFixed(1)} s`;
}

function Meter(props: { name: string; value: ReactNode; of: string; share: number | null; warns?: boolean }) {
  return (
    <div className="grid min-w-0 content-start gap-0.5">
      <dt className="text-sm text-muted">{props.name}</dt>
      <dd className="grid gap-1">
        <span className={classNames("text-lg font-medium", props.warns && "text-warning")}>{props.value}</span>
        {props.share === null ? null : (
          <span aria-hidden data-bar className="h-1 overflow-hidden rounded-sm bg-line">
            <span
              className={classNames("block h-full", props.warns ? "bg-pending" : "bg-queued")}
              style={{ width: `${Math.min(100, Math.max(0, props.share * 100))}%` }}
            />
          </span>
        )}
        <span className={classNames("text-sm", props.warns ? "text-warning" : "text-muted")}>{props.of}</span>
      </dd>
    </div>
  );
}

function Footer({ target, engine }: { target: TargetOut; engine: EngineView | null }) {
  const [open, setOpen] = useState(false);
  return (
    <div className="grid gap-2 border-t border-line pt-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm text-muted">
        <span>
          policy{" "}
          <a href={`#policy-${target.policyName}`} className="font-mono text-accent hover:underline">
            {target.policyName}
          </a>
        </span>
        <span>{target.retryable ? "automatic retries" : "no automatic retries"}</span>
        {target.needsApproval ? <span>needs approval</span> : null}
        {target.noBursts ? <span>no bursts</span> : null}
        {target.warmUpMs > 0 ? <span>warms up in {formatDuration(target.warmUpMs)}</span> : null}
        {target.fallback ? <span>when it cannot accept events, a send {fallbackWords(target.fallback)}</span> : null}
        {engine ? (
          <>
            <span>
              {plural(engine.workers, "worker")}, <TimeAgo at={engine.asOf} />
            </span>
            <Button size="sm" variant="ghost" className="ml-auto" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? "Hide counters" : "Show counters"}
            </Button>
          </>
        ) : null}
      </div>
      {open && engine ? (
        <dl className="grid grid-cols-2 gap-x-6 gap-y-0.5 text-sm sm:grid-cols-3">
          {engine.counters.map((counter) => (
            <div key={counter.name} className="flex justify-between gap-2">
              <dt className="text-muted">{counterWords(counter.name)}</dt>
              <dd className="font-mono">{formatNumber(counter.value)}</dd>
            </div>
          ))}
          {engine.counters.length === 0 ? <p className="text-muted">Nothing was counted yet.</p> : null}
        </dl>
      ) : null}
    </div>
  );
}
