"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { TextField } from "@/components/ui/input";
import { submits } from "@/components/ui/use-submit";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { resolveInstant } from "@/lib/platform/instant.pure";
import type { Zone } from "@/lib/platform/plain/format.pure";
import { fromTyped, toTyped, WINDOW_PRESETS } from "@/lib/selection/filter/time-window.browser";

type Window = { from?: string; to?: string };

/** Named windows on the left, exact bounds in the chosen zone on the right. */
export function TimeRangeForm(props: { value: Window; openLabel: string; onChange: (next: Window) => void }) {
  const { value, openLabel, onChange } = props;
  const zone = useZone();
  const [from, setFrom] = useState(() => toTyped(value.from, zone));
  const [to, setTo] = useState(() => toTyped(value.to, zone));
  const bounds = { from: boundOf(from, zone), to: boundOf(to, zone) };
  const reversed = isReversed(bounds.from, bounds.to);
  const wrong = bounds.from === null || bounds.to === null;
  const apply = () => {
    if (!wrong && !reversed) onChange({ from: bounds.from ?? undefined, to: bounds.to ?? undefined });
  };
  // The open window may be one of the presets: list it once.
  const named = WINDOW_PRESETS.filter(({ label }) => label !== openLabel);
  const presets = [{ from: undefined, label: openLabel }, ...named];
  return (
    <div className="flex flex-col gap-4 sm:flex-row">
      <ul className="flex flex-col">
        {presets.map((preset) => {
          const chosen = preset.from === value.from && value.to === undefined;
          return (
            <li key={preset.label}>
              <button
                type="button"
                aria-pressed={chosen}
                onClick={() => onChange({ from: preset.from })}
                className={classNames(
                  "h-7 w-32 rounded-sm px-2 text-left hover:bg-hover",
                  chosen && "bg-selected font-medium",
                )}
              >
                {preset.label}
              </button>
            </li>
          );
        })}
      </ul>
      <form className="flex w-56 flex-col gap-3 border-line sm:border-l sm:pl-4" onSubmit={submits(apply)}>
        <TextField
          label="From"
          error={bounds.from === null ? "Not a valid time: use the format of the example" : undefined}
          placeholder="2026-11-20 14:05 or -2h"
          value={from}
          onValue={setFrom}
          inputClassName="font-mono text-sm"
        />
        <TextField
          label="To"
          hint={`In ${zone === "utc" ? "UTC" : "browser time"}. Leave empty for no limit.`}
          error={
            bounds.to === null
              ? "Not a valid time: use the format of the example"
              : reversed
                ? "Must be after the start"
                : undefined
          }
          placeholder="now"
          value={to}
          onValue={setTo}
          inputClassName="font-mono text-sm"
        />
        <Button
          type="submit"
          variant="primary"
          className="self-end"
          disabled={wrong || reversed || (from + to).trim() === ""}
        >
          Apply
        </Button>
      </form>
    </div>
  );
}

/** undefined = empty, null = typed and not a time. */
function boundOf(text: string, zone: Zone): string | null | undefined {
  return text.trim() === "" ? undefined : fromTyped(text, zone);
}

function isReversed(from: string | null | undefined, to: string | null | undefined): boolean {
  if (!from || !to) return false;
  const now = Date.now();
  return (resolveInstant(from, now) ?? 0) >= (resolveInstant(to, now) ?? 0);
}
