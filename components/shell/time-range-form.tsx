"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { Field, Input } from "@/components/ui/input";
import { useZone } from "@/lib/browser/clock-zone";
import { fromInputValue, toInputValue, WINDOW_PRESETS } from "@/lib/browser/time-window";
import { resolveInstant } from "@/lib/contract/event-filter";

type Window = { from?: string; to?: string };

/** Named windows on the left, exact bounds in the chosen zone on the right. */
export function TimeRangeForm({
  value,
  openLabel,
  onChange,
}: {
  value: Window;
  openLabel: string;
  onChange: (next: Window) => void;
}) {
  const zone = useZone();
  const [from, setFrom] = useState(() => toInputValue(value.from, Date.now(), zone));
  const [to, setTo] = useState(() => toInputValue(value.to, Date.now(), zone));
  const next: Window = { from: fromInputValue(from, zone), to: fromInputValue(to, zone) };
  const reversed =
    next.from !== undefined &&
    next.to !== undefined &&
    (resolveInstant(next.from, 0) ?? 0) >= (resolveInstant(next.to, 0) ?? 0);
  const presets = [{ from: undefined, label: openLabel }, ...WINDOW_PRESETS];
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
      <form
        className="flex flex-col gap-3 border-line sm:border-l sm:pl-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!reversed) onChange(next);
        }}
      >
        <Field label={`From (${zone === "utc" ? "UTC" : "local time"})`}>
          {(control) => (
            <Input {...control} type="datetime-local" value={from} onChange={(event) => setFrom(event.target.value)} />
          )}
        </Field>
        <Field
          label={`To (${zone === "utc" ? "UTC" : "local time"})`}
          error={reversed ? "Must be after the start" : undefined}
        >
          {(control) => (
            <Input {...control} type="datetime-local" value={to} onChange={(event) => setTo(event.target.value)} />
          )}
        </Field>
        <Button type="submit" variant="primary" className="self-end" disabled={reversed || (!next.from && !next.to)}>
          Apply
        </Button>
      </form>
    </div>
  );
}
