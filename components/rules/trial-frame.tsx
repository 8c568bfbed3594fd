import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Skeleton } from "@/components/ui/skeleton";
import { TextLink } from "@/components/ui/text-link";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { shortenId } from "@/lib/platform/plain/format.pure";

export const SAMPLES_SHOWN = 5;

/** What a try of a rule found. `old`: the answer is of an earlier draft. */
export function TrialFrame<Trial>(props: {
  label: string;
  trial: UseQueryResult<Trial, ApiError>;
  old?: boolean;
  children: (trial: Trial) => ReactNode;
}) {
  const { label, trial, old = false, children } = props;
  if (trial.isError)
    return <ErrorPanel error={trial.error} inline onRetry={() => trial.refetch()} title="Not tested" />;
  return (
    <section aria-label={label} aria-busy={old} className="rounded-md bg-canvas px-3 py-2">
      <div className={`grid gap-2 ${old ? "opacity-60" : ""}`}>
        {trial.data === undefined ? <Skeleton className="w-2/3" /> : children(trial.data)}
      </div>
    </section>
  );
}

/** An event that a rule was tried on. It opens beside the dialog of the rule. */
export function TriedEvent({ id, eventId }: { id: string; eventId: string }) {
  return (
    <TextLink href={`/events/${id}`} target="_blank" data-tip={eventId} className="font-mono text-sm whitespace-nowrap">
      {shortenId(eventId, 20, 8)}
    </TextLink>
  );
}
