import type { ReactNode } from "react";
import { classNames } from "@/components/ui/class-names";
import type { PreviewOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import type { DraftProblems, RedriveDraft } from "./redrive-draft";

/** What each section of the redrive form reads, and how it changes the draft. */
export type SectionProps = {
  mode: RedriveOut["mode"];
  draft: RedriveDraft;
  preview: PreviewOut;
  set: (part: Partial<RedriveDraft>) => void;
  problems: DraftProblems;
};

/** `tall`: the first line of the row holds an input, which is higher than text. */
export function LabelledRow({ label, tall, children }: { label: ReactNode; tall?: boolean; children: ReactNode }) {
  return (
    <div className="grid gap-x-4 gap-y-1 sm:grid-cols-[5.5rem_1fr]">
      <div className={classNames("text-sm font-medium text-muted", tall ? "sm:leading-7" : "sm:leading-5")}>
        {label}
      </div>
      <div className="min-w-0">{children}</div>
    </div>
  );
}
