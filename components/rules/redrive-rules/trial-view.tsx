import { TriedEvent } from "@/components/rules/rule-parts";
import { Skeleton } from "@/components/ui/skeleton";
import { TimeAgo } from "@/components/ui/time-ago";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { RedriveRuleTrial } from "@/lib/rules/redrive-rules.shapes";
import { leftWords, OUTCOME_WORDS, trialSentence } from "./rule-words";

const SHOWN = 5;

/** What a rule would have done in the past. `trial` undefined = it is being tried. */
export function TrialView({ trial, days }: { trial: RedriveRuleTrial | undefined; days: number }) {
  return (
    <section aria-label="What it would have done" className="grid gap-2 rounded-md bg-canvas px-3 py-2">
      {trial === undefined ? <Skeleton className="w-2/3" /> : <Tried trial={trial} days={days} />}
    </section>
  );
}

function Tried({ trial, days }: { trial: RedriveRuleTrial; days: number }) {
  const { checked, bounded, parkedNow, samples, unknown } = trial;
  const rest = leftWords(trial);
  return (
    <>
      <p role="status">{trialSentence(trial, days)}</p>
      <p className="text-sm text-muted">
        {bounded
          ? `Of the newest ${plural(checked, "event")} that match; more do.`
          : `Of ${plural(checked, "event")} that match.`}
        {rest.length === 0 ? null : ` ${rest.join("; ")}.`}
      </p>
      <p>
        Parked now and matching:{" "}
        <span className="tabular-nums">
          {parkedNow.bounded ? `more than ${formatNumber(parkedNow.count)}` : formatNumber(parkedNow.count)}
        </span>
        .
      </p>
      {samples.length === 0 ? null : (
        <ul aria-label="Samples" className="grid gap-1">
          {samples.slice(0, SHOWN).map((sample) => (
            <li key={sample.id} className="flex min-w-0 flex-wrap items-baseline gap-x-2">
              <TriedEvent id={sample.id} eventId={sample.eventId} />
              <span className="text-sm text-muted">
                parked <TimeAgo at={sample.parkedAt} />, taken <TimeAgo at={sample.takenAt} />:{" "}
                {OUTCOME_WORDS[sample.outcome]}
              </span>
            </li>
          ))}
        </ul>
      )}
      <details className="text-sm text-muted">
        <summary className="min-h-6 cursor-pointer">What a trial cannot know</summary>
        <ul className="list-disc pl-5">
          {unknown.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </details>
    </>
  );
}
