"use client";

import { untilWords } from "@/components/events/groups/mute-until";
import { Checkbox } from "@/components/ui/input";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { aboutPath, alertPath } from "@/lib/observe/alerts/alert-paths.pure";
import type { AlertOut } from "@/lib/observe/alerts/alerts.shapes";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { AlertState, SeverityBadge } from "./alert-looks";

/** One alert in a list. `selected` undefined: it cannot be selected. */
export function AlertRow({
  alert,
  selected,
  onSelected,
}: {
  alert: AlertOut;
  selected?: boolean;
  onSelected?: (selected: boolean) => void;
}) {
  const { id, sentence, severity, rule, source, state } = alert;
  const zone = useZone();
  return (
    <li className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 border-line px-3 py-2 not-first:border-t hover:bg-hover">
      <span className="flex min-h-6 items-center">
        {selected === undefined ? null : (
          <Checkbox
            aria-label={`Select: ${sentence}`}
            checked={selected}
            onChange={(event) => onSelected?.(event.target.checked)}
          />
        )}
      </span>
      <div className="grid min-w-0 gap-0.5">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-0.5">
          <SeverityBadge severity={severity} quiet={state === "resolved"} />
          <AlertState alert={alert} />
          <span className="ml-auto text-sm text-muted">
            {state === "resolved" ? (
              <>
                resolved <TimeAgo at={alert.resolvedAt} />
              </>
            ) : (
              <>
                since <TimeAgo at={alert.since} />
              </>
            )}
          </span>
        </div>
        <TextLink href={aboutPath(alert)} className="min-h-6 text-ink! wrap-anywhere">
          {sentence}
        </TextLink>
        <p className="text-sm text-muted wrap-anywhere">
          <TextLink href={alertPath(id)} aria-label={`The alert of ${rule.name}: ${sentence}`}>
            {rule.name}
          </TextLink>
          {source === null ? "" : ` · ${source}`}
          {alert.acknowledgedBy === null ? "" : ` · acknowledged by ${alert.acknowledgedBy}`}
          {alert.acknowledgeNote ? `: ${alert.acknowledgeNote}` : ""}
          {alert.mute === null ? "" : ` · its group is muted ${untilWords(alert.mute, zone)}`}
        </p>
      </div>
    </li>
  );
}
