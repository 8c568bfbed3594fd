"use client";

import { type ReactNode, type RefObject, useId } from "react";
import { classNames } from "@/components/ui/class-names";
import { Checkbox, Field, Input, Radio, Textarea } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { Skeleton } from "@/components/ui/skeleton";
import { useZone } from "@/lib/browser/clock-zone";
import type { PreviewOut, RedriveOut } from "@/lib/contract/redrives";
import { formatClock, formatNumber, formatRate } from "@/lib/core/format";
import { CONFIRMABLE_REFUSALS } from "@/lib/core/refusal";
import { DespiteChoice } from "./despite-choice";
import { EarlierChoice } from "./earlier-choice";
import { etaBefore, rateWords } from "./eta-words";
import { RateField } from "./rate-field";
import { RATE_MAX_UNLIMITED } from "./rate-scale";
import {
  canaryWords,
  confirmationOf,
  type DraftProblems,
  draftEtaMs,
  earlierOf,
  type RedriveDraft,
  warmUpWords,
} from "./redrive-draft";
import { RefusalBar } from "./refusal-bar";

export type RedriveFormProps = {
  mode: RedriveOut["mode"];
  draft: RedriveDraft;
  onDraft: (draft: RedriveDraft) => void;
  preview: PreviewOut;
  /** The preview is that of an earlier choice: the one of this choice is not there yet. */
  counting: boolean;
  /** The refusals before the person confirmed any. */
  askedAbout: PreviewOut["refused"];
  /** The rate of the other lane; undefined during the read. */
  otherLaneRate: number | null | undefined;
  /** Names of the targets that the events may go to instead; empty = there is no choice. */
  targets: readonly string[];
  filtered: boolean;
  problems: DraftProblems;
  reasonRef: RefObject<HTMLTextAreaElement | null>;
  typedRef: RefObject<HTMLInputElement | null>;
};

/** The preview and the choices of a redrive, the most important first. */
export function RedriveForm(props: RedriveFormProps) {
  const { mode, draft, onDraft, preview } = props;
  const set = (part: Partial<RedriveDraft>) => onDraft({ ...draft, ...part });
  const nothing = preview.eligible === 0;
  const targetId = useId();
  return (
    <div className="flex flex-col gap-4" aria-busy={props.counting}>
      <RefusalBar preview={preview} />
      <DespiteChoice
        refused={props.askedAbout}
        despite={draft.despite}
        onDespite={(despite) => set({ despite, typed: "", typedStrand: "" })}
      />
      {preview.earlier && preview.earlier.heldEvents > 0 ? (
        <EarlierChoice
          earlier={preview.earlier}
          choice={earlierOf(draft, preview)}
          onChoice={(earlier) => set({ earlier, typed: "", typedStrand: "" })}
          typed={draft.typedStrand}
          onTyped={(typedStrand) => set({ typedStrand })}
          error={props.problems.strand}
          sends={mode === "deliver"}
        />
      ) : null}
      {preview.earlier === null && preview.total !== 0 ? (
        <p className="text-muted">
          Whether earlier versions stay parked could not be found in time: what is behind one will be refused.
        </p>
      ) : null}
      {nothing && mode === "deliver" ? (
        <p className="text-warning">
          {preview.total === 0
            ? "Nothing matches any more: another redrive or operator was first."
            : CONFIRMABLE_REFUSALS.some((reason) => preview.refused[reason])
              ? "None of these is sent unless it is confirmed above."
              : "None of these can be sent now. Verify them to see each one's verdict."}
        </p>
      ) : null}
      {nothing ? null : (
        <LabelledRow label="By code">
          <ErrorCodes byErrorCode={preview.byErrorCode} />
        </LabelledRow>
      )}
      <LabelledRow label="Frozen">
        <Cutoff preview={preview} filtered={props.filtered} />
      </LabelledRow>
      {/* A redrive that can send nothing has no lane, rate or canary. */}
      {mode === "deliver" && nothing ? null : (
        <>
          {props.targets.length > 0 || draft.target !== null ? (
            <LabelledRow label={<label htmlFor={targetId}>Target</label>} tall>
              <TargetChoice {...props} id={targetId} set={set} />
            </LabelledRow>
          ) : null}
          <LabelledRow label="Lane">
            <LaneChoice {...props} set={set} />
          </LabelledRow>
        </>
      )}
      {mode === "deliver" && !nothing ? <PaceRows draft={draft} preview={preview} set={set} /> : null}
      <Field
        label="Reason"
        optional={mode === "verify" || nothing}
        error={props.problems.reason}
        hint={mode === "deliver" ? "Kept in the audit for ever." : undefined}
      >
        {(control) => (
          <Textarea
            {...control}
            ref={props.reasonRef}
            rows={2}
            maxLength={2_000}
            value={draft.reason}
            placeholder="stock service back since 13:58"
            onChange={(event) => set({ reason: event.target.value })}
          />
        )}
      </Field>
      {mode === "deliver" ? <TypedCount {...props} set={set} /> : null}
    </div>
  );
}

/** `tall`: the first line of the row holds an input, which is higher than text. */
function LabelledRow({ label, tall, children }: { label: ReactNode; tall?: boolean; children: ReactNode }) {
  return (
    <div className="grid gap-x-4 gap-y-1 sm:grid-cols-[5.5rem_1fr]">
      <div className={classNames("text-sm font-medium text-muted", tall ? "sm:leading-7" : "sm:leading-5")}>
        {label}
      </div>
      <div className="min-w-0">{children}</div>
    </div>
  );
}

type Part = { set: (part: Partial<RedriveDraft>) => void };

const CODES_SHOWN = 5;

function ErrorCodes({ byErrorCode }: { byErrorCode: Record<string, number> }) {
  const codes = Object.entries(byErrorCode).sort(([, a], [, b]) => b - a);
  const rest = codes.length - CODES_SHOWN;
  return (
    <p className="flex flex-wrap gap-x-3 wrap-anywhere">
      {codes.slice(0, CODES_SHOWN).map(([code, count]) => (
        <span key={code}>
          <span className="font-mono text-sm">{code}</span> {formatNumber(count)}
        </span>
      ))}
      {rest > 0 ? <span className="text-muted">and {rest} more codes</span> : null}
      {codes.length === 0 ? <span className="text-muted">none</span> : null}
    </p>
  );
}

function Cutoff({ preview, filtered }: { preview: PreviewOut; filtered: boolean }) {
  const zone = useZone();
  const at = formatClock(Date.parse(preview.cutoff), zone);
  return (
    <p className="text-muted">
      {filtered ? `at ${at}: later arrivals are not included` : `exactly the events selected, counted at ${at}`}
    </p>
  );
}

const LANES = [
  { lane: "slow", hint: "isolated, gentle on the target", named: "the workers' slow lane" },
  { lane: "main", hint: "back to the origin queue", named: "the workers' main lane" },
] as const;

function TargetChoice({ id, draft, targets, set }: RedriveFormProps & Part & { id: string }) {
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

function LaneChoice({ draft, preview, counting, otherLaneRate, set }: RedriveFormProps & Part) {
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

function PaceRows({ draft, preview, set }: { draft: RedriveDraft; preview: PreviewOut } & Part) {
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

function TypedCount({ draft, preview, problems, typedRef, set }: RedriveFormProps & Part) {
  const confirmation = confirmationOf(preview);
  if (confirmation.kind === "click" || preview.eligible === 0) return null;
  return (
    <Field
      label={
        <>
          Type <span className="font-mono text-ink">{confirmation.expected}</span> to confirm
        </>
      }
      error={problems.typed}
    >
      {(control) => (
        <Input
          {...control}
          ref={typedRef}
          value={draft.typed}
          onChange={(event) => set({ typed: event.target.value })}
          className="w-40! font-mono"
        />
      )}
    </Field>
  );
}

const ROWS = ["w-2/3", "w-1/2", "w-3/4", "w-full", "w-2/3"];

export function RedriveFormSkeleton() {
  return (
    <div className="flex flex-col gap-4" role="status" aria-label="Counting">
      <Skeleton className="h-2!" />
      {ROWS.map((width, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows without identity, never reordered
        <LabelledRow key={index} label={<Skeleton className="w-14" />}>
          <Skeleton className={width} />
        </LabelledRow>
      ))}
    </div>
  );
}
