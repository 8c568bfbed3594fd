"use client";

import { useId, useState } from "react";
import { RateField } from "@/components/redrive/rate-field";
import { mendHref } from "@/components/repair/mends/mend-address";
import { ActionButton } from "@/components/ui/action-button";
import { Button, LinkButton } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Checkbox } from "@/components/ui/input";
import { Panel } from "@/components/ui/panel";
import { TimeAgo } from "@/components/ui/time-ago";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { formatNumber, formatRate, plural } from "@/lib/platform/plain/format.pure";
import { useChangeRedrive, useRedriveCauses } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { causeViews } from "./cause-words";

type Braked = RedriveOut & { brakeSeen: NonNullable<RedriveOut["brakeSeen"]> };

export function isBraked(redrive: RedriveOut): redrive is Braked {
  return redrive.state === "PAUSED" && redrive.brakeSeen !== null;
}

const CAUSES_SHOWN = 3;

/** What the brake saw, with samples, and the ways to go on. */
export function RedriveBraked({ redrive, onCancel }: { redrive: Braked; onCancel: () => void }) {
  const { brakeSeen: seen, brake } = redrive;
  const causes = useRedriveCauses(redrive.id, false);
  const views = causeViews(causes.data?.causes ?? []).filter(({ outcome }) => outcome !== "refused");
  return (
    <Panel
      className="order-first border-warning lg:order-none"
      title="Paused by the brake"
      bodyClassName="grid grid-cols-[minmax(0,1fr)] gap-3 p-3"
    >
      <p>
        {seen.cause === "latency" && brake?.latencyMsMax != null
          ? `The slowest 5% of the last sends took ${formatNumber(seen.p95Ms ?? 0)} ms or more; the limit is ${formatNumber(brake.latencyMsMax)} ms.`
          : `Of the last ${plural(seen.outcomes, "event")} ${formatNumber(seen.failed)} failed and ${formatNumber(seen.bounced)} bounced: ${percent(seen)}%${brake ? `, above the limit of ${Math.round(brake.ratio * 100)}%` : ""}.`}{" "}
        <span className="text-muted">
          It was sending {formatRate(seen.ratePerSecond)}
          {seen.p95Ms !== null && seen.cause !== "latency" ? `, 95% within ${formatNumber(seen.p95Ms)} ms` : null},{" "}
          <TimeAgo at={seen.at} />.
        </span>
      </p>
      {views.length > 0 ? (
        <ul className="grid gap-1">
          {views.slice(0, CAUSES_SHOWN).map((view) => (
            <li key={view.key} className="flex flex-wrap items-baseline gap-x-2">
              <span className="font-mono">{formatNumber(view.count)}</span>
              <span className="font-medium wrap-anywhere">{view.result}</span>
              <span className="text-muted">{view.title}</span>
              <span className="line-clamp-2 min-w-0 flex-1 basis-64 font-mono text-sm break-all text-muted">
                {view.texts[0]?.text}
              </span>
            </li>
          ))}
        </ul>
      ) : null}
      <GoOn redrive={redrive} />
      <div className="flex flex-wrap gap-2 border-t border-line pt-3">
        {redrive.failed + redrive.bounced > 0 ? (
          <LinkButton href={mendHref({ redrive: redrive.id, outcome: ["failed", "bounced"] }, randomKey)}>
            Mend the failed events…
          </LinkButton>
        ) : null}
        <Button needs="redrive" variant="danger" onClick={onCancel}>
          Cancel and park {plural(redrive.open, "event")} again…
        </Button>
      </div>
    </Panel>
  );
}

function percent({ failed, bounced, outcomes }: Braked["brakeSeen"]): number {
  return outcomes === 0 ? 0 : Math.round(((failed + bounced) / outcomes) * 100);
}

/** Resumes at a lower rate, with a canary again. */
function GoOn({ redrive }: { redrive: Braked }) {
  const change = useChangeRedrive(redrive.id);
  const before = redrive.effectiveRatePerSecond ?? redrive.brakeSeen.ratePerSecond;
  const [rate, setRate] = useState(() => Math.max(0.1, Math.round((before / 2) * 10) / 10));
  const [canary, setCanary] = useState(true);
  const id = useId();
  return (
    <div className="grid gap-2">
      <RateField rate={rate} laneRate={redrive.laneRatePerSecond} onChange={setRate} />
      <label htmlFor={id} className="flex items-center gap-2">
        <Checkbox id={id} checked={canary} onChange={(event) => setCanary(event.target.checked)} />
        start the rest with a canary again
      </label>
      <ActionButton
        needs="redrive"
        variant="primary"
        className="justify-self-start"
        busy={change.isPending}
        onClick={() =>
          change.mutate({ action: "resume", ratePerSecond: rate, ...(canary ? { canary: true as const } : {}) })
        }
      >
        Resume at {formatRate(rate)}
      </ActionButton>
      {change.isError ? <ErrorPanel error={change.error} inline title="Request failed" /> : null}
    </div>
  );
}
