"use client";

import Link from "next/link";
import { paceWords } from "@/components/redrive/eta-words";
import { listedOutcome } from "@/components/redrive/progress-segments";
import { redriveTitle } from "@/components/redrive/redrive-title";
import { SegmentedBar } from "@/components/redrive/segmented-bar";
import { StateOfRedrive } from "@/components/redrive/state-of-redrive";
import { ReadError } from "@/components/ui/error-panel";
import { Panel } from "@/components/ui/panel";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useStatus } from "@/lib/observe/health/status.browser";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { useRunningRedrives } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";

const SHOWN = 4;

export function RunningRedrives() {
  const running = useRunningRedrives(SHOWN + 1);
  const items = running.data?.items ?? [];
  const forViewer = useStatus().data?.approvalsForViewer ?? 0;
  return (
    <Panel
      title="Running redrives"
      actions={
        <Link href="/redrives" className="px-1 text-sm text-accent hover:underline">
          {items.length > SHOWN ? "more" : "all"}
        </Link>
      }
    >
      <ReadError read={running} stale={items.length > 0} />
      {forViewer > 0 ? (
        <Link href="/approvals" className="block px-3 pb-1.5 text-warning hover:underline">
          {forViewer === 1 ? "1 waits" : `${formatNumber(forViewer)} wait`} for your approval
        </Link>
      ) : null}
      {running.isPending ? <SkeletonRows rows={2} columns={["flex-1", "w-12"]} /> : null}
      {running.isSuccess && items.length === 0 ? <p className="px-3 pb-3 text-muted">None running.</p> : null}
      <ul>
        {items.slice(0, SHOWN).map((redrive) => (
          <Running key={redrive.id} redrive={redrive} />
        ))}
      </ul>
    </Panel>
  );
}

function Running({ redrive }: { redrive: RedriveOut }) {
  return (
    <li>
      <Link href={`/redrives/${redrive.id}`} className="grid gap-1 px-3 py-1.5 hover:bg-hover">
        <span className="flex items-center gap-2">
          <StateOfRedrive redrive={redrive} />
          <span className="min-w-0 flex-1 truncate font-medium">{redriveTitle(redrive)}</span>
        </span>
        <span className="flex items-center gap-2">
          <SegmentedBar counts={redrive} className="min-w-0 flex-1" />
          <span className="text-sm whitespace-nowrap text-muted">
            {listedOutcome(redrive)}
            {redrive.state === "RUNNING" && !redrive.stalled ? ` · ${paceWords(redrive.rateNow, redrive.etaMs)}` : null}
          </span>
        </span>
        {redrive.stalled ? <span className="text-sm text-warning">{redrive.stalled.text}</span> : null}
      </Link>
    </li>
  );
}
