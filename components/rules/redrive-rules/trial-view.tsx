import { SAMPLES_SHOWN, TrialFrame, TriedEvent } from "@/components/rules/trial-frame";
import { TimeAgo } from "@/components/ui/time-ago";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { useRedriveRuleTrial } from "@/lib/rules/redrive-rules.browser";
import type { RedriveRuleTrial } from "@/lib/rules/redrive-rules.shapes";
import { leftWords, OUTCOME_WORDS, trialSentence } from "./rule-words";

/** What a rule would have done in the past. */
export function TrialView({ trial, days }: { trial: ReturnType<typeof useRedriveRuleTrial>; days: number }) {
  return (
    <TrialFrame label="What it would have done" trial={trial}>
      {(found) => <Tried trial={found} days={days} />}
    </TrialFrame>
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
          {samples.slice(0, SAMPLES_SHOWN).map((sample) => (
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
        <summary className="min-h-6 cursor-pointer">What the test cannot know</summary>
        <ul className="list-disc pl-5">
          {unknown.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </details>
    </>
  );
}
