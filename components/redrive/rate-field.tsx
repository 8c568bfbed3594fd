"use client";

import { useEffect, useId, useState } from "react";
import { Input } from "@/components/ui/input";
import { formatRate } from "@/lib/platform/plain/format.pure";
import { POSITIONS, parseRate, positionOf, RATE_MAX_UNLIMITED, stepRate } from "./rate-scale";

/**
 * A slider and a number for one rate, events per second. The slider calls `onChange` while it moves and `onCommit` when
 * it is released; the number commits on Enter and when it loses the focus.
 */
export function RateField(props: {
  rate: number;
  /** The right end of the slider; null = unlimited. */
  laneRate: number | null;
  onChange: (rate: number) => void;
  onCommit?: (rate: number) => void;
  /** The browser has taken over the touch for scrolling: nothing was chosen. */
  onCancel?: () => void;
}) {
  const { rate, laneRate, onChange, onCommit, onCancel } = props;
  const id = useId();
  const max = laneRate ?? RATE_MAX_UNLIMITED;
  const [text, setText] = useState(String(rate));
  useEffect(() => setText(String(rate)), [rate]);
  const [refused, setRefused] = useState(false);
  const typed = parseRate(text);
  const wrong = typed === null || refused;
  const leave = () => {
    if (typed === null) {
      setRefused(true);
      return setText(String(rate));
    }
    onChange(typed);
    onCommit?.(typed);
  };

  return (
    <div className="flex min-w-0 flex-1 flex-wrap items-center gap-2">
      <input
        type="range"
        aria-label="rate"
        aria-valuetext={formatRate(rate)}
        min={0}
        max={POSITIONS}
        step={1}
        value={positionOf(rate, max)}
        onChange={(event) => onChange(stepRate(rate, Number(event.target.value), max))}
        onPointerUp={() => onCommit?.(rate)}
        onPointerCancel={onCancel}
        onKeyUp={() => onCommit?.(rate)}
        className="h-6 min-w-24 flex-1"
      />
      <Input
        id={id}
        inputMode="decimal"
        aria-label="rate, events per second"
        aria-invalid={wrong || undefined}
        aria-describedby={wrong ? `${id}-wrong` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setRefused(false);
          const next = parseRate(event.target.value);
          if (next !== null) onChange(next);
        }}
        onBlur={leave}
        onKeyDown={(event) => {
          if (event.key === "Enter") leave();
        }}
        className="w-16! text-right font-mono"
      />
      <span className="text-muted">/s</span>
      {wrong ? (
        <p id={`${id}-wrong`} role="alert" className="basis-full text-sm text-danger">
          A rate must be above 0, and at most 100,000; to stop a redrive, pause it.
          {refused ? ` It stays ${formatRate(rate)}.` : null}
        </p>
      ) : null}
    </div>
  );
}
