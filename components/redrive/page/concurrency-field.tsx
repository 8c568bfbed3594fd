"use client";

import { useId } from "react";

/** A slider for the sends at once. It calls `onChange` while it moves and `onCommit` when it is released. */
export function ConcurrencyField(props: {
  value: number;
  /** The right end. */
  places: number;
  onChange: (value: number) => void;
  onCommit: (value: number) => void;
}) {
  const { value, places, onChange, onCommit } = props;
  const id = useId();
  return (
    <div className="grid gap-1">
      <label htmlFor={id} className="flex justify-between gap-2">
        <span>sends at once, each worker</span>
        <span className="font-mono">
          {value} of {places}
        </span>
      </label>
      <input
        id={id}
        type="range"
        min={1}
        max={places}
        step={1}
        value={value}
        onChange={(event) => onChange(Number(event.target.value))}
        onPointerUp={() => onCommit(value)}
        onKeyUp={() => onCommit(value)}
        className="h-6"
      />
    </div>
  );
}
