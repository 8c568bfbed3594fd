import { useId } from "react";
import { Checkbox, Input } from "@/components/ui/input";
import { formatRate } from "@/lib/core/format";
import { etaBefore } from "./eta-words";
import { LabelledRow, type SectionProps } from "./form-row";
import { RateField } from "./rate-field";
import { RATE_MAX_UNLIMITED } from "./rate-scale";
import { canaryWords, draftEtaMs, hasCanary, stepsOf, warmUpWords } from "./redrive-draft";

/** The rate, the time it takes, and the canary. */
export function PaceSection({ draft, preview, problems, set }: SectionProps) {
  const canary = useId();
  const laneRate = preview.ratePerSecond;
  const rate = draft.ratePerSecond ?? laneRate ?? RATE_MAX_UNLIMITED;
  const warmUp = warmUpWords(preview);
  const capped = laneRate !== null && draft.ratePerSecond !== null && draft.ratePerSecond > laneRate;
  return (
    <>
      <LabelledRow label="Rate" tall>
        <div className="flex flex-col gap-x-4 gap-y-1 sm:flex-row sm:items-center">
          <RateField
            rate={rate}
            laneRate={laneRate}
            onChange={(next) => set({ ratePerSecond: next === laneRate ? null : next })}
          />
          <output className="sm:basis-52">
            {etaBefore(draftEtaMs(draft, preview))}
            {warmUp === null ? null : <span className="text-muted">, {warmUp}</span>}
          </output>
        </div>
        {capped ? (
          <p className="text-sm text-warning">
            {draft.target ?? "The lane"} takes {formatRate(laneRate)} at most; raise it on Targets.
          </p>
        ) : null}
      </LabelledRow>
      <LabelledRow label="Canary">
        <label htmlFor={canary} className="flex items-baseline gap-2">
          <Checkbox
            id={canary}
            className="translate-y-0.5"
            checked={hasCanary(draft, preview.eligible)}
            onChange={(event) => set({ canary: event.target.checked })}
          />
          <span>
            {canaryWords(preview.eligible, stepsOf(draft) ?? undefined)}
            {preview.eligible === 1
              ? ""
              : ", each step when the one before is confirmed by its consumer or was quiet for a while"}
          </span>
        </label>
        {hasCanary(draft, preview.eligible) && preview.eligible !== 1 ? (
          <div className="mt-1.5 flex flex-wrap items-center gap-x-2 gap-y-1">
            <label htmlFor={`${canary}-steps`}>steps</label>
            <Input
              id={`${canary}-steps`}
              className="w-32! font-mono"
              value={draft.canarySteps}
              aria-invalid={problems.canarySteps !== undefined}
              aria-describedby={`${canary}-steps-wrong`}
              onChange={(event) => set({ canarySteps: event.target.value })}
            />
            <Wrong id={`${canary}-steps-wrong`} text={problems.canarySteps} />
          </div>
        ) : null}
      </LabelledRow>
      <LabelledRow label="Brake" tall>
        <div className="flex flex-wrap items-center gap-x-1.5 gap-y-1">
          pauses when more than
          <SmallNumber
            name="Brake: percent"
            value={draft.brakePercent}
            onValue={(brakePercent) => set({ brakePercent })}
          />
          % of the last
          <SmallNumber name="Brake: window" value={draft.brakeWindow} onValue={(brakeWindow) => set({ brakeWindow })} />
          fail or come back, or 95 % of them take longer than
          <SmallNumber
            name="Brake: latency, ms"
            placeholder="any"
            value={draft.latencyMsMax}
            onValue={(latencyMsMax) => set({ latencyMsMax })}
          />
          ms
        </div>
        <Wrong text={problems.brake} />
      </LabelledRow>
    </>
  );
}

function Wrong({ id, text }: { id?: string; text: string | undefined }) {
  return text === undefined ? null : (
    <p id={id} role="alert" className="text-sm text-danger">
      {text}
    </p>
  );
}

function SmallNumber(props: { name: string; value: string; placeholder?: string; onValue: (value: string) => void }) {
  return (
    <Input
      aria-label={props.name}
      inputMode="numeric"
      className="w-16! font-mono"
      value={props.value}
      placeholder={props.placeholder}
      onChange={(event) => props.onValue(event.target.value)}
    />
  );
}
