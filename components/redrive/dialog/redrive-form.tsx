"use client";

import { ChevronRight } from "lucide-react";
import { type ReactNode, useId } from "react";
import { ApprovalNotice } from "@/components/guard/approvals/approval-notice";
import { ChannelChoice } from "@/components/redrive/channel-choice";
import { Button } from "@/components/ui/button";
import { Skeleton } from "@/components/ui/skeleton";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { CONFIRMABLE_REFUSALS } from "@/lib/states/refusal.pure";
import { ReasonSection, TypedCount } from "./confirm-section";
import { DespiteChoice } from "./despite-choice";
import { type DestinationProps, LaneSection, TargetSection } from "./destination-section";
import { EarlierChoice } from "./earlier-choice";
import { LabelledRow, type SectionProps } from "./form-row";
import { CanarySection, PaceSection } from "./pace-section";
import { earlierOf, foldedWords, isReasonRequired, type RedriveDraft } from "./redrive-draft";
import { RefusalBar } from "./refusal-bar";
import { SetSection } from "./set-section";
import { WhenSection } from "./when-section";

type RedriveFormProps = Omit<SectionProps, "set"> &
  Pick<DestinationProps, "counting" | "otherLaneRate" | "targets"> & {
    onDraft: (draft: RedriveDraft) => void;
    /** The preview before the person confirmed anything. */
    askedAbout: SectionProps["preview"] | undefined;
    filtered: boolean;
    /** Whether the fields that have a good default are shown. */
    more: boolean;
    onMore: (more: boolean) => void;
  };

/** The preview and the choices of a redrive, the most important first; what is rarely changed is folded. */
export function RedriveForm(props: RedriveFormProps) {
  const { mode, draft, onDraft, preview } = props;
  const set = (part: Partial<RedriveDraft>) => onDraft({ ...draft, ...part });
  const nothing = preview.eligible === 0;
  const section = { mode, draft, preview, set, problems: props.problems };
  const sends = mode === "deliver" && !nothing;
  const optional = !sends || !isReasonRequired(preview);
  const choice = earlierOf(draft);
  return (
    <div className="flex flex-col gap-4" aria-busy={props.counting}>
      {preview.earlier && preview.earlier.heldEvents > 0 ? (
        <EarlierChoice
          earlier={preview.earlier}
          choice={choice}
          eligible={props.askedAbout?.eligible ?? null}
          onChoice={(earlier) => set({ earlier, typed: "", typedStrand: "" })}
          typed={draft.typedStrand}
          onTyped={(typedStrand) => set({ typedStrand })}
          error={props.problems.strand}
          sends={mode === "deliver"}
        />
      ) : null}
      <RefusalBar preview={preview} />
      {sends ? <ApprovalNotice causes={preview.approvalCauses} /> : null}
      <DespiteChoice
        preview={props.askedAbout}
        despite={draft.despite}
        onDespite={(despite) => set({ despite, typed: "", typedStrand: "" })}
      />
      {preview.unknown.map(({ part, detail }) => (
        <p key={part} className="text-warning">
          {detail}.
        </p>
      ))}
      {nothing && mode === "deliver" ? (
        <p className="text-warning">
          {preview.total === 0
            ? "Nothing matches any more: another redrive or person got there first."
            : CONFIRMABLE_REFUSALS.some((reason) => preview.refused[reason])
              ? "None of these is sent unless it is confirmed above."
              : choice === "hold" && (preview.earlier?.heldEvents ?? 0) > 0
                ? "None of these can be sent before the earlier versions: choose above what to do with those."
                : "None of these can be sent now. Verify them to see the result for each."}
        </p>
      ) : null}
      {!preview.changedSince || preview.refused["changed-since"] ? null : (
        <p className="text-warning">
          {preview.changedSince === 1 ? "1 of them has" : `${formatNumber(preview.changedSince)} of them have`} changed
          since that redrive: edited, mended or bounced. The current revision is sent.
        </p>
      )}
      <SetSection
        preview={preview}
        filtered={props.filtered}
        along={choice === "include" ? (preview.earlier?.takenAlong ?? 0) : 0}
      />
      {/* A redrive that can send nothing has no lane, rate or canary. */}
      {mode === "deliver" && nothing ? null : (
        <LaneSection
          {...section}
          counting={props.counting}
          otherLaneRate={props.otherLaneRate}
          targets={props.targets}
        />
      )}
      {sends ? <CanarySection {...section} /> : null}
      <More open={props.more} onOpen={props.onMore} words={foldedWords(mode, draft, preview, optional)}>
        {mode === "deliver" && nothing ? null : <TargetSection {...section} targets={props.targets} />}
        {sends ? <PaceSection {...section} /> : null}
        {sends ? <WhenSection {...section} /> : null}
        <LabelledRow label="Notify">
          <ChannelChoice tell={draft.tell} onTell={(tell) => set({ tell })} />
          <p className="text-sm text-muted">when it ends or stalls</p>
        </LabelledRow>
        {optional ? <ReasonSection {...section} optional /> : null}
      </More>
      {optional ? null : <ReasonSection {...section} optional={false} />}
      {mode === "deliver" ? <TypedCount {...section} /> : null}
    </div>
  );
}

/** Folds fields that have a good default. `words`: what they say, shown while they are folded. */
function More(props: { open: boolean; onOpen: (open: boolean) => void; words: string; children: ReactNode }) {
  const id = useId();
  const { open } = props;
  return (
    <>
      <LabelledRow
        label={
          <Button
            variant="ghost"
            size="sm"
            className="-ml-3"
            aria-expanded={open}
            aria-controls={id}
            onClick={() => props.onOpen(!open)}
          >
            <ChevronRight size={13} aria-hidden className={open ? "rotate-90" : undefined} /> More
          </Button>
        }
      >
        {open ? null : <p className="line-clamp-2 wrap-anywhere text-muted sm:pt-0.5">{props.words}</p>}
      </LabelledRow>
      <div id={id} hidden={!open} className="flex flex-col gap-4 empty:hidden">
        {open ? props.children : null}
      </div>
    </>
  );
}

const ROWS = ["w-2/3", "w-1/2", "w-3/4", "w-full"];

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
