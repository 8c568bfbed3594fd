import { useId } from "react";
import { RateField } from "@/components/redrive/rate-field";
import { RATE_MAX_UNLIMITED } from "@/components/redrive/rate-scale";
import { Checkbox, Input } from "@/components/ui/input";
import { formatRate } from "@/lib/platform/plain/format.pure";
import { LabelledRow, type SectionProps } from "./form-row";
import { type BrakeField, brakeFaults, canaryWords, hasCanary, stepsOf, timeWords } from "./redrive-draft";

/** Whether a canary goes first, and in which steps. */
export function CanarySection({ draft, preview, set }: SectionProps) {
  const id = useId();
  return (
    <LabelledRow label="Canary">
      <label htmlFor={id} className="flex items-baseline gap-2">
        <Checkbox
          id={id}
          className="translate-y-0.5"
          checked={hasCanary(draft, preview.eligible)}
          onChange={(event) => set({ canary: event.target.checked })}
        />
        {canaryWords(preview.eligible, stepsOf(draft) ?? undefined)}
      </label>
    </LabelledRow>
  );
}

/** The rate with the time it takes, the steps of the canary, and the brake. */
export function PaceSection({ draft, preview, problems, set }: SectionProps) {
  const id = useId();
  const laneRate = preview.ratePerSecond;
  const rate = draft.ratePerSecond ?? laneRate ?? RATE_MAX_UNLIMITED;
  const capped = laneRate !== null && draft.ratePerSecond !== null && draft.ratePerSecond > laneRate;
  const faults = problems.brake === undefined ? [] : brakeFaults(draft);
  const brakeField = (field: BrakeField) => ({
    value: draft[field],
    wrong: faults.includes(field),
    describedBy: `${id}-brake`,
    onValue: (value: string) => set({ [field]: value }),
  });
  return (
    <>
      <LabelledRow label="Rate" tall>
        <div className="flex flex-col gap-x-4 gap-y-1 sm:flex-row sm:items-center">
          <RateField
            rate={rate}
            laneRate={laneRate}
            onChange={(next) => set({ ratePerSecond: next === laneRate ? null : next })}
          />
          <output className="text-muted sm:basis-52">{timeWords(draft, preview)}</output>
        </div>
        {capped ? (
          <p className="text-sm text-warning">
            {draft.target ?? "The lane"} accepts at most {formatRate(laneRate)}; raise the limit under Targets.
          </p>
        ) : null}
      </LabelledRow>
      {hasCanary(draft, preview.eligible) && preview.eligible !== 1 ? (
        <LabelledRow label={<label htmlFor={`${id}-steps`}>Steps</label>} tall>
          <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <Input
              id={`${id}-steps`}
              className="w-32! font-mono"
              value={draft.canarySteps}
              aria-invalid={problems.canarySteps !== undefined}
              aria-describedby={`${id}-steps-wrong`}
              onChange={(event) => set({ canarySteps: event.target.value })}
            />
            <span className="text-muted">
              each step starts when the previous one is confirmed or has had no bounces for a while
            </span>
          </div>
          <Wrong id={`${id}-steps-wrong`} text={problems.canarySteps} />
        </LabelledRow>
      ) : null}
      <LabelledRow label="Brake" tall>
        <div className="flex flex-wrap items-center gap-x-1.5 gap-y-1">
          pauses when more than
          <SmallNumber name="Brake: percent" {...brakeField("brakePercent")} />% of the last
          <SmallNumber name="Brake: window" {...brakeField("brakeWindow")} />
          fail or bounce, or more than 5% of them take longer than
          <SmallNumber name="Brake: latency, ms" placeholder="any" {...brakeField("latencyMsMax")} />
          ms
        </div>
        <Wrong id={`${id}-brake`} text={problems.brake} />
      </LabelledRow>
    </>
  );
}

function Wrong({ id, text }: { id: string; text: string | undefined }) {
  return text === undefined ? null : (
    <p id={id} role="alert" className="text-sm text-danger">
      {text}
    </p>
  );
}

function SmallNumber(props: {
  name: string;
  value: string;
  placeholder?: string;
  wrong: boolean;
  /** The id of the text that says what is wrong. */
  describedBy: string;
  onValue: (value: string) => void;
}) {
  return (
    <Input
      aria-label={props.name}
      aria-invalid={props.wrong || undefined}
      aria-describedby={props.wrong ? props.describedBy : undefined}
      inputMode="numeric"
      className="w-16! font-mono"
      value={props.value}
      placeholder={props.placeholder}
      onChange={(event) => props.onValue(event.target.value)}
    />
  );
}
