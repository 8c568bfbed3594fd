"use client";

import type { RefObject } from "react";
import { Skeleton } from "@/components/ui/skeleton";
import { formatNumber } from "@/lib/core/format";
import { CONFIRMABLE_REFUSALS } from "@/lib/core/refusal";
import { ReasonSection, TypedCount } from "./confirm-section";
import { DespiteChoice } from "./despite-choice";
import { type DestinationProps, DestinationSection } from "./destination-section";
import { EarlierChoice } from "./earlier-choice";
import { LabelledRow, type SectionProps } from "./form-row";
import { PaceSection } from "./pace-section";
import { earlierOf, isReasonRequired, type RedriveDraft } from "./redrive-draft";
import { RefusalBar } from "./refusal-bar";
import { SetSection } from "./set-section";
import { WhenSection } from "./when-section";

export type RedriveFormProps = Omit<SectionProps, "set"> &
  Pick<DestinationProps, "counting" | "otherLaneRate" | "targets"> & {
    onDraft: (draft: RedriveDraft) => void;
    /** The refusals before the person confirmed any. */
    askedAbout: SectionProps["preview"]["refused"];
    filtered: boolean;
    reasonRef: RefObject<HTMLTextAreaElement | null>;
    typedRef: RefObject<HTMLInputElement | null>;
  };

/** The preview and the choices of a redrive, the most important first. */
export function RedriveForm(props: RedriveFormProps) {
  const { mode, draft, onDraft, preview } = props;
  const set = (part: Partial<RedriveDraft>) => onDraft({ ...draft, ...part });
  const nothing = preview.eligible === 0;
  const section = { mode, draft, preview, set, problems: props.problems };
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
      {preview.changedSince === null || preview.changedSince === 0 ? null : (
        <p className="text-warning">
          {preview.changedSince === 1 ? "1 of them has" : `${formatNumber(preview.changedSince)} of them have`} other
          bytes now than that redrive had: they were edited, mended or came back since. What is sent is what they are
          now.
        </p>
      )}
      <SetSection preview={preview} filtered={props.filtered} />
      {/* A redrive that can send nothing has no lane, rate or canary. */}
      {mode === "deliver" && nothing ? null : (
        <DestinationSection
          {...section}
          counting={props.counting}
          otherLaneRate={props.otherLaneRate}
          targets={props.targets}
        />
      )}
      {mode === "deliver" && !nothing ? <PaceSection {...section} /> : null}
      {mode === "deliver" && !nothing ? <WhenSection {...section} /> : null}
      <ReasonSection
        {...section}
        optional={mode === "verify" || nothing || !isReasonRequired(preview)}
        inputRef={props.reasonRef}
      />
      {mode === "deliver" ? <TypedCount {...section} inputRef={props.typedRef} /> : null}
    </div>
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
