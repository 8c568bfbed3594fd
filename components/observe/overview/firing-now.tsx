"use client";

import Link from "next/link";
import { SeverityBadge } from "@/components/observe/alerts/alert-looks";
import { itemsOf } from "@/components/ui/loaded";
import { Panel } from "@/components/ui/panel";
import { TimeAgo } from "@/components/ui/time-ago";
import { aboutPath } from "@/lib/observe/alerts/alert-paths.pure";
import { useAlerts } from "@/lib/observe/alerts/alerts.browser";
import type { AlertOut } from "@/lib/observe/alerts/alerts.shapes";
import { formatNumber } from "@/lib/platform/plain/format.pure";

const SHOWN = 4;

/** The alerts that fire, those that nobody has acknowledged first, and where to act. Nothing while none fires. */
export function FiringNow() {
  const firing = useAlerts("firing");
  const alerts = itemsOf(firing).toSorted(
    (a, b) => Number(a.acknowledgedBy !== null) - Number(b.acknowledgedBy !== null),
  );
  if (alerts.length === 0) return null;
  return (
    <Panel
      title="Firing now"
      className="mx-3 mb-3"
      actions={
        <Link href="/alerts" className="px-1 text-sm text-accent hover:underline">
          {alerts.length > SHOWN ? `all ${formatNumber(alerts.length)}${firing.hasNextPage ? "+" : ""}` : "all"}
        </Link>
      }
    >
      <ul className="pb-1">
        {alerts.slice(0, SHOWN).map((alert) => (
          <li key={alert.id}>
            <Link
              href={aboutPath(alert)}
              prefetch={false}
              className="grid min-h-8 grid-cols-[6.5rem_minmax(0,1fr)_auto] items-center gap-x-3 px-3 py-1 hover:bg-hover"
              data-tip={alert.rule.name}
            >
              <SeverityBadge severity={alert.severity} quiet={alert.acknowledgedBy !== null} />
              <span className="min-w-0 wrap-anywhere sm:truncate">{alert.sentence}</span>
              <span className="text-right text-sm whitespace-nowrap">
                <TimeAgo at={alert.since} className="text-muted" />
                <span className="ml-3 hidden w-40 text-left text-accent lg:inline-block">{nextStep(alert)}</span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function nextStep({ subject, acknowledgedBy }: AlertOut): string {
  if (acknowledgedBy !== null) return `acknowledged by ${acknowledgedBy}`;
  if (subject.fingerprint !== undefined) return "Open its group";
  return subject.errorCode === undefined ? "See what to do" : "Open its groups";
}
