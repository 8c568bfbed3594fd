import type { ReactNode } from "react";
import { classNames } from "./class-names";

/**
 * A choice between a few views, as buttons of which one is pressed. `joined`: in one frame, as a switch of what is shown
 * below; else side by side.
 */
export function Toggles<Value extends string>(props: {
  label: string;
  options: readonly { value: Value; label: ReactNode; disabled?: boolean }[];
  value: Value;
  onChange: (value: Value) => void;
  joined?: boolean;
  className?: string;
}) {
  const { label, options, value: chosen, onChange, joined = false, className } = props;
  return (
    <fieldset className={classNames("flex", joined && "rounded-md border border-line-strong", className)}>
      <legend className="sr-only">{label}</legend>
      {options.map(({ value, label: words, disabled }) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === chosen}
          disabled={disabled}
          onClick={() => onChange(value)}
          className={classNames(
            "h-6 px-2 text-sm text-muted hover:bg-hover disabled:opacity-50",
            joined
              ? "first-of-type:rounded-l-[4px] last:rounded-r-[4px] aria-pressed:bg-hover aria-pressed:font-medium aria-pressed:text-ink"
              : "rounded-md aria-pressed:bg-selected aria-pressed:text-ink",
          )}
        >
          {words}
        </button>
      ))}
    </fieldset>
  );
}
