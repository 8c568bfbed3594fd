"use client";

import { Clock } from "lucide-react";
import { usePathname } from "next/navigation";
import { lazily } from "@/components/ui/lazily";
import { PopoverButton } from "@/components/ui/popup-button";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { useEventFilter } from "@/lib/selection/filter/filter-url.browser";
import { windowLabel } from "@/lib/selection/filter/time-window.browser";

const TimeRangeForm = lazily(() => import("./time-range-form"), "TimeRangeForm");

/** Pages with a time window, and the meaning of an address without one. */
const OPEN_WINDOW: Record<string, string> = {
  "/": "Last 24 h",
  "/events": "Any time",
  "/groups": "Any time",
  "/audit": "Any time",
};

/** The time window of the page, stored in its address. */
export function TimeRange() {
  const zone = useZone();
  const open = OPEN_WINDOW[usePathname()];
  const { filter, patch } = useEventFilter();
  if (open === undefined || filter === null) return null;
  const label = windowLabel(filter, zone, open);
  return (
    <PopoverButton
      name={`Time window: ${label}`}
      label={
        <>
          <Clock size={13} aria-hidden />
          <span className="hidden sm:inline">{label}</span>
          <span aria-hidden className="hidden text-faint sm:inline">
            ▾
          </span>
        </>
      }
      variant={filter.from || filter.to ? "secondary" : "ghost"}
      align="end"
      className="px-2!"
    >
      {(close) => (
        <TimeRangeForm
          value={{ from: filter.from, to: filter.to }}
          openLabel={open}
          onChange={(next) => {
            patch({ from: next.from, to: next.to });
            close();
          }}
        />
      )}
    </PopoverButton>
  );
}
