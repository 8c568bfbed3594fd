import Link from "next/link";
import { classNames } from "@/components/ui/class-names";
import { TimeAgo } from "@/components/ui/time-ago";
import { formatDuration, formatNumber, formatShare, plural } from "@/lib/platform/plain/format.pure";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import { counterWords, type EngineView, latencyText } from "./engine-view";
import { fallbackWords } from "./target-draft";
import { TARGET_NUMBERS } from "./target-numbers";

/** The source of a target, and the lane of it that it serves. */
export function TargetOrigin({ target }: { target: TargetOut }) {
  return (
    <>
      <Link href={`/sources/${encodeURIComponent(target.source)}`} className="hover:text-accent hover:underline">
        {target.source}
      </Link>{" "}
      <span className="text-muted">{target.lane === null ? "named" : target.lane}</span>
    </>
  );
}

/** Where a target sends to, by which rules, and what its workers have counted. */
export function TargetDetails({ target, engine }: { target: TargetOut; engine: EngineView | null }) {
  const { address, retryable, needsApproval, noBursts, warmUpMs, fallback } = target;
  const rules = [
    retryable ? "automatic retries" : "no automatic retries",
    needsApproval && "needs approval",
    noBursts && "no bursts",
    warmUpMs > 0 && `warms up in ${formatDuration(warmUpMs)}`,
    fallback && `when it cannot accept events, a send ${fallbackWords(fallback)}`,
    engine && `${formatShare(engine.budget.retryRatio)} retries`,
    engine && `latency p99 ${latencyText(engine.latency.p99Ms)}`,
  ];
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2 text-sm text-muted">
      <p className="wrap-anywhere lg:hidden">
        source <TargetOrigin target={target} />
      </p>
      <dl className="flex flex-wrap gap-x-6 gap-y-0.5 lg:hidden">
        {TARGET_NUMBERS.map(({ name, shown, text, warns }) => (
          <div key={name} className={classNames("flex gap-1.5", shown.detail)}>
            <dt>{name}</dt>
            <dd className={engine && warns?.(engine) ? "text-warning" : "text-ink"}>
              {text(target, engine) ?? "unknown"}
            </dd>
          </div>
        ))}
      </dl>
      {address === null ? null : <p className="wrap-anywhere">{address}</p>}
      <p className="flex flex-wrap gap-x-4 gap-y-1">
        <span>
          policy{" "}
          <a href={`#policy-${target.policyName}`} className="font-mono text-accent hover:underline">
            {target.policyName}
          </a>
        </span>
        {rules.map((rule) => (rule ? <span key={rule}>{rule}</span> : null))}
        {engine ? (
          <span>
            {plural(engine.workers, "worker")}, <TimeAgo at={engine.asOf} />
          </span>
        ) : null}
      </p>
      {engine ? (
        <dl className="flex flex-wrap gap-x-6 gap-y-0.5">
          {engine.counters.map((counter) => (
            <div key={counter.name} className="flex gap-1.5">
              <dt>{counterWords(counter.name)}</dt>
              <dd className="font-mono text-ink">{formatNumber(counter.value)}</dd>
            </div>
          ))}
          {engine.counters.length === 0 ? <p>Nothing counted yet.</p> : null}
        </dl>
      ) : null}
    </div>
  );
}
