import { useId } from "react";
import { Checkbox } from "@/components/ui/input";
import { formatRate } from "@/lib/core/format";
import { etaBefore } from "./eta-words";
import { LabelledRow, type SectionProps } from "./form-row";
import { RateField } from "./rate-field";
import { RATE_MAX_UNLIMITED } from "./rate-scale";
import { canaryWords, draftEtaMs, warmUpWords } from "./redrive-draft";

/** The rate, the time it takes, and the canary. */
export function PaceSection({ draft, preview, set }: SectionProps) {
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
            checked={draft.canary}
            onChange={(event) => set({ canary: event.target.checked })}
          />
          <span>
            {canaryWords(preview.eligible)}
            {preview.eligible === 1 ? "" : ", each step after a quiet time"}. With or without: pauses by itself when
            more than 20 % of the last 50 fail or come back
          </span>
        </label>
      </LabelledRow>
    </>
  );
}
