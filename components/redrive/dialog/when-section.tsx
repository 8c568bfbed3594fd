import { useId } from "react";
import { Input, Radio } from "@/components/ui/input";
import { LabelledRow, type SectionProps } from "./form-row";

const WHENS = [
  { when: "now", label: "now" },
  { when: "time", label: "at a set time" },
  { when: "breaker", label: "when its target's breaker closes" },
] as const;

/** When the redrive begins. Its set is frozen at the request in each case. */
export function WhenSection({ draft, set, problems }: SectionProps) {
  const [name, error] = [useId(), useId()];
  return (
    <LabelledRow label="When">
      <div role="radiogroup" aria-label="When" className="flex flex-wrap items-center gap-x-4 gap-y-1">
        {WHENS.map(({ when, label }) => (
          <span key={when} className="flex items-center gap-2">
            <Radio id={`${name}-${when}`} name={name} checked={draft.when === when} onChange={() => set({ when })} />
            <label htmlFor={`${name}-${when}`}>{label}</label>
          </span>
        ))}
        {draft.when === "time" ? (
          <Input
            type="datetime-local"
            aria-label="Start at, in this browser's time zone"
            aria-invalid={problems.startAt !== undefined}
            aria-describedby={problems.startAt === undefined ? undefined : error}
            className="w-52"
            value={draft.startAt}
            onChange={(event) => set({ startAt: event.target.value })}
          />
        ) : null}
      </div>
      {problems.startAt === undefined ? null : (
        <p id={error} className="text-sm text-danger">
          {problems.startAt}
        </p>
      )}
      {draft.when === "now" ? null : (
        <p className="text-sm text-muted">
          The events are frozen now and wait in this redrive, which you can start or cancel earlier.
          {draft.when === "breaker"
            ? " If the breaker does not close within a day, it is cancelled."
            : " The time is in this browser's time zone."}
        </p>
      )}
    </LabelledRow>
  );
}
