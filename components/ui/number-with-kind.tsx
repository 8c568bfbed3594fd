"use client";

import type { CountOut } from "@/lib/events/events.shapes";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatClock, formatNumber } from "@/lib/platform/plain/format.pure";
import { countText } from "./count-text";

const KINDS: Record<CountOut["kind"], string> = {
  exact: "exact",
  estimated: "estimated by PostgreSQL's query planner",
  atLeast: "at least: counting stopped here",
};

/** A number with its kind: `12,481`, `≈ 3.2 M`, `≥ 10,000`; its age on hover. Unknown is `?`, never 0. */
export function NumberWithKind(props: {
  count: CountOut;
  /** The counted things, for the tooltip. */
  label?: string;
  className?: string;
}) {
  const { count, label, className } = props;
  const zone = useZone();
  const asOf = `as of ${formatClock(Date.parse(count.asOf), zone)}`;
  const whole =
    count.value === null ? "unknown: counting took too long" : `${formatNumber(count.value)}, ${KINDS[count.kind]}`;
  return (
    <span data-tip={`${label ? `${label}: ` : ""}${whole}\n${asOf}`} className={className ?? "whitespace-nowrap"}>
      {countText(count)}
    </span>
  );
}
