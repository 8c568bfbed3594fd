import { useId } from "react";
import { rateWords } from "@/components/redrive/eta-words";
import { Radio } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { LabelledRow, type SectionProps } from "./form-row";

export type DestinationProps = SectionProps & {
  /** The preview is that of an earlier choice: the one of this choice is not there yet. */
  counting: boolean;
  /** The rate of the other lane; undefined during the read. */
  otherLaneRate: number | null | undefined;
  /** Names of the targets that the events may go to instead; empty = there is no choice. */
  targets: readonly string[];
};

/** Where the events go, where there is a choice. */
export function TargetSection(props: Pick<DestinationProps, "draft" | "targets" | "set">) {
  const id = useId();
  return props.targets.length > 0 || props.draft.target !== null ? (
    <LabelledRow label={<label htmlFor={id}>Target</label>} tall>
      <TargetChoice {...props} id={id} />
    </LabelledRow>
  ) : null;
}

export function LaneSection(props: DestinationProps) {
  return (
    <LabelledRow label="Lane">
      <LaneChoice {...props} />
    </LabelledRow>
  );
}

const LANES = [
  { lane: "slow", hint: "isolated, gentle on the target", named: "the workers' slow lane" },
  { lane: "main", hint: "back to the origin queue", named: "the workers' main lane" },
] as const;

function TargetChoice(props: Pick<DestinationProps, "draft" | "targets" | "set"> & { id: string }) {
  const { id, draft, targets, set } = props;
  const { target } = draft;
  const names = target === null || targets.includes(target) ? targets : [target, ...targets];
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <Select
        id={id}
        className="max-w-full"
        options={[{ value: "", label: "back to where they came from" }, ...names.map(optionOf)]}
        value={target ?? ""}
        // Another target has another limit, so the chosen rate no longer applies.
        onChange={(event) => set({ target: event.target.value || null, ratePerSecond: null })}
      />
      {target === null ? null : (
        <span className="text-muted">with its own rate and breaker; the lane only says which workers send</span>
      )}
    </div>
  );
}

function optionOf(name: string) {
  return { value: name, label: name };
}

function LaneChoice({ draft, preview, counting, otherLaneRate, set }: DestinationProps) {
  const name = useId();
  return (
    <div role="radiogroup" aria-label="Lane" className="flex flex-wrap gap-x-6 gap-y-1">
      {LANES.map(({ lane, hint, named }) => {
        const rate = counting ? undefined : lane === draft.lane ? preview.ratePerSecond : otherLaneRate;
        return (
          <label
            key={lane}
            htmlFor={`${name}-${lane}`}
            className="flex items-center gap-2"
            data-tip={draft.target === null ? hint : named}
          >
            <Radio
              id={`${name}-${lane}`}
              name={name}
              checked={draft.lane === lane}
              // The other lane has another limit, so the chosen rate no longer applies.
              onChange={() => set({ lane, ratePerSecond: null })}
            />
            {lane}
            {/* The rate of the targets that would receive the events; none when no event would be sent. */}
            {preview.eligible === 0 || draft.target !== null ? null : (
              <span className="text-muted">{rate === undefined ? "…" : rateWords(rate)}</span>
            )}
          </label>
        );
      })}
    </div>
  );
}
