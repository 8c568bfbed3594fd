"use client";

import { Button } from "@/components/ui/button";
import { setZone, useZone } from "@/lib/platform/browser/clock-zone.browser";

/** The zone of every absolute time: UTC as in logs, or the zone of this browser. */
export function ZoneToggle() {
  const zone = useZone();
  const other = zone === "utc" ? "local" : "utc";
  const words = { utc: "UTC", local: "Browser time" };
  return (
    <Button
      variant="ghost"
      onClick={() => setZone(other)}
      aria-label={`Times in ${words[zone]}. Switch to ${words[other]}`}
      data-tip={`Times in ${words[zone]}: switch to ${words[other]}`}
      className="px-1.5!"
    >
      {words[zone]}
    </Button>
  );
}
