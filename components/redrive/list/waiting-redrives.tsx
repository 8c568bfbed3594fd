"use client";

import Link from "next/link";
import { TextLink } from "@/components/ui/text-link";
import { useStatus } from "@/lib/observe/health/status.browser";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { WAITS, type Wait } from "@/lib/redrive/request/redrive-wait.pure";

const WORDS: Record<Wait["for"], string> = { approval: "for approval", time: "for a time", breaker: "for a breaker" };

/** How many redrives wait before they start, by what they wait for; each count is a filter of the list. */
export function WaitingRedrives({ chosen }: { chosen: Wait["for"] | null }) {
  const { data } = useStatus();
  const counts = data?.redrivesWaiting;
  const shown = WAITS.filter((wait) => wait === chosen || (counts?.[wait] ?? 0) > 0);
  if (shown.length === 0) return null;
  return (
    <nav aria-label="Redrives that wait" className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 pt-2">
      <span className="text-muted">Waiting</span>
      {shown.map((wait) => (
        <Link
          key={wait}
          href={`/redrives?waitsFor=${wait}`}
          prefetch={false}
          aria-current={wait === chosen ? "true" : undefined}
          className="text-warning hover:underline aria-[current]:font-medium aria-[current]:underline"
        >
          {counts ? formatNumber(counts[wait]) : "?"} {WORDS[wait]}
        </Link>
      ))}
      {chosen === null ? null : <TextLink href="/redrives">Show all</TextLink>}
      {data?.approvalsForViewer ? (
        <TextLink href="/approvals" className="ml-auto">
          {formatNumber(data.approvalsForViewer)} for your approval
        </TextLink>
      ) : null}
    </nav>
  );
}
