import { SAMPLES_SHOWN, TrialFrame, TriedEvent } from "@/components/rules/trial-frame";
import type { useTrial } from "@/lib/intake/admission/admission.browser";
import type { Trial } from "@/lib/intake/admission/admission.shapes";
import { visible } from "@/lib/platform/plain/format.pure";
import { MARK_WORDS } from "./mark-words";
import { trialSentence } from "./rule-words";

type Sample = Trial["samples"][number];

/** What a rule would do to the newest events. `old`: the answer is of an earlier draft. */
export function TrialView({ trial, old }: { trial: ReturnType<typeof useTrial>; old?: boolean }) {
  return (
    <TrialFrame label="What it would do" trial={trial} old={old}>
      {(found) => (
        <>
          <p role="status">{trialSentence(found)}</p>
          {found.fault ? <p className="text-danger">{found.fault}</p> : null}
          <ul className="grid gap-2">
            {found.samples.slice(0, SAMPLES_SHOWN).map((sample) => (
              <TriedSample key={sample.id} {...sample} />
            ))}
          </ul>
        </>
      )}
    </TrialFrame>
  );
}

function TriedSample({ id, eventId, source, error, before, after }: Sample) {
  return (
    <li className="min-w-0">
      <p className="flex flex-wrap items-baseline gap-x-2">
        <TriedEvent id={id} eventId={eventId} />
        <span className="text-muted">{visible(source)}</span>
      </p>
      <p className="font-mono text-sm wrap-anywhere">
        <span className="text-muted">{words(before)}</span> <span aria-hidden>→</span>
        <span className="sr-only">becomes</span>{" "}
        <span className={after === null ? "text-danger" : undefined}>{words(after)}</span>
      </p>
      {error === null ? null : (
        <p className="truncate text-sm text-muted" data-tip={visible(error)}>
          {visible(error)}
        </p>
      )}
    </li>
  );
}

/** `UPSTREAM · “stock” · parked early` */
function words(admitted: Sample["after"]): string {
  if (admitted === null) return "dropped";
  const { errorCode, group, mark } = admitted;
  return [
    visible(errorCode),
    ...(group === null ? [] : [`“${visible(group)}”`]),
    ...(mark === null ? [] : [MARK_WORDS[mark]]),
  ].join(" · ");
}
