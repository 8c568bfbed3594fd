"use client";

import Link from "next/link";
import { refusalShort } from "@/components/redrive/refusal-words";
import { Panel } from "@/components/ui/panel";
import { TimeAgo } from "@/components/ui/time-ago";
import { formatNumber, shortenId } from "@/lib/platform/plain/format.pure";
import type { Comparison, ComparisonPart } from "@/lib/redrive/list/comparison.shapes";
import { useRedriveComparison } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";

/** What this dry run says against the one before it. Absent while there is none before it. */
export function RedriveComparison({ redrive }: { redrive: RedriveOut }) {
  const { data } = useRedriveComparison(redrive.id);
  if (!data?.with) return null;
  return (
    <Panel title="Against the dry run before" bodyClassName="grid gap-2 p-3">
      <p className="text-muted">
        <Link href={`/redrives/${data.with.id}`} className="text-accent underline">
          {shortenId(data.with.id, 4, 4)}
        </Link>{" "}
        by {data.with.createdBy}, <TimeAgo at={data.with.createdAt} />
      </p>
      <Part title="Pass now" part={data.newlyPassing} />
      <Part title="Do not pass any more" part={data.newlyRefused} />
      <Part title="Refused for another reason" part={data.otherReason} />
      <p className="text-sm text-muted">{sameWords(data)}</p>
    </Panel>
  );
}

function Part({ title, part }: { title: string; part: ComparisonPart }) {
  if (part.count === 0) return null;
  const reasons = Object.entries(part.byReason).map(
    ([reason, count]) => `${reasonWords(reason)} ${formatNumber(count)}`,
  );
  const revised = part.revised === 0 ? "" : `, ${formatNumber(part.revised)} of them revised`;
  return (
    <div className="grid gap-0.5">
      <p>
        <span className="font-medium">{title}</span>: {formatNumber(part.count)}
        {revised}
      </p>
      <p className="text-sm text-muted">{reasons.join(", ")}</p>
      <ul className="text-sm">
        {part.samples.slice(0, 3).map((sample) => (
          <li key={sample.id} className="wrap-anywhere">
            <Link href={`/events/${sample.id}`} className="font-mono text-accent underline">
              {sample.eventId}
            </Link>
            <span className="text-muted"> {(sample.now.passes ? sample.before : sample.now).detail}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function reasonWords(reason: string): string {
  return reason.split(" -> ").map(refusalShort).join(", now ");
}

function sameWords({ stillPassing, stillRefused, onlyNow, onlyBefore }: Comparison): string {
  const refused = Object.values(stillRefused).reduce((sum, count) => sum + count, 0);
  const others = onlyNow + onlyBefore;
  const same = `As before: ${formatNumber(stillPassing)} pass, ${formatNumber(refused)} refused.`;
  return others === 0 ? same : `${same} ${formatNumber(others)} were judged in one of the two alone.`;
}
