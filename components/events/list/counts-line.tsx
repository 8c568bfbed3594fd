"use client";

import { classNames } from "@/components/ui/class-names";
import { countText } from "@/components/ui/count-text";
import { NumberWithKind } from "@/components/ui/number-with-kind";
import { Shape } from "@/components/ui/shape";
import { Skeleton } from "@/components/ui/skeleton";
import { STATE_LOOKS } from "@/components/ui/state-badge";
import { TimeAbsolute } from "@/components/ui/time-ago";
import type { EventCounts } from "@/lib/events/events.shapes";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import type { FilterStatus } from "@/lib/selection/filter/filter-params.shapes";
import { countsShown, type ShownCount } from "./counts-shown";

function StateCount({ shown, onOnly }: { shown: ShownCount; onOnly: (status: FilterStatus) => void }) {
  const { status, count } = shown;
  const look = STATE_LOOKS[status];
  return (
    <button
      type="button"
      onClick={() => onOnly(status)}
      aria-label={`${countText(count)} ${status.toLowerCase()}: show only these`}
      className={classNames("flex min-h-6 items-center gap-1 rounded-sm hover:underline", look.colour)}
    >
      <Shape name={look.shape} />
      <NumberWithKind count={count} label={status} /> <span className="hidden sm:inline">{status.toLowerCase()}</span>
    </button>
  );
}

/** The matching events by state, each count with a link; at the right, the events newer than the list. */
export function CountsLine(props: {
  counts: EventCounts | undefined;
  /** The count failed: the line says so, and the list stays. */
  failed: boolean;
  filter: EventFilter;
  newcomers: { count: number; more: boolean };
  /** Rare matches are being looked for among the events that arrived before this time; null = the list is read as far as it shows. */
  examinedTo: string | null;
  onFilter: (next: EventFilter) => void;
  onShowNew: () => void;
}) {
  const { counts, failed, filter, newcomers, examinedTo, onFilter, onShowNew } = props;
  const narrow = (status: FilterStatus) => onFilter({ ...filter, status: [status] });
  const news = `+${formatNumber(newcomers.count)}${newcomers.more ? " or more" : ""} new`;
  return (
    <div className="flex min-h-8 shrink-0 items-center gap-3 px-3 py-1">
      {counts ? (
        <div className="flex min-w-0 flex-wrap items-center gap-x-3">
          <span>
            <NumberWithKind count={counts.total} className="font-medium" />
            {counts.total.kind === "exact" ? null : (
              <span className="text-faint"> {counts.total.kind === "estimated" ? "estimated" : "or more"}</span>
            )}
          </span>
          {countsShown(counts).map(({ state, of }) => (
            <span key={state?.status ?? of[0]?.status} className="flex items-center gap-1.5">
              {state ? <StateCount shown={state} onOnly={narrow} /> : null}
              {of.length > 0 ? (
                <span className="flex items-center gap-1 text-faint">
                  {state ? "(" : null}
                  {of.map((part) => (
                    <StateCount key={part.status} shown={part} onOnly={narrow} />
                  ))}
                  {state ? ")" : null}
                </span>
              ) : null}
            </span>
          ))}
          {failed ? <span className="text-warning">out of date: the last count failed</span> : null}
        </div>
      ) : failed ? (
        <span className="text-faint" data-tip="Counting took too long; the list and every operation work without it">
          count unknown
        </span>
      ) : (
        <Skeleton className="w-56" />
      )}
      {examinedTo ? (
        <span className="ml-auto shrink-0 text-faint">
          Searched as far as <TimeAbsolute at={examinedTo} />, still searching…
        </span>
      ) : null}
      <div aria-live="polite" className={classNames("shrink-0", examinedTo === null && "ml-auto")}>
        {newcomers.count > 0 ? (
          <button
            type="button"
            onClick={onShowNew}
            data-tip="Show them at the top  n"
            className="enter rounded-md border border-line-strong px-2 text-sm leading-5.5 font-medium text-accent hover:bg-hover"
          >
            {news} — show
          </button>
        ) : null}
      </div>
    </div>
  );
}
