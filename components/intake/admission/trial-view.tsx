import { TriedEvent } from "@/components/rules/rule-parts";
import { Skeleton } from "@/components/ui/skeleton";
import type { Trial } from "@/lib/intake/admission/admission.shapes";
import { visible } from "@/lib/platform/plain/format.pure";
import { MARK_WORDS, trialSentence } from "./rule-words";

const SHOWN = 5;

type Admitted = Trial["samples"][number]["after"];

/** What a rule would do to the newest events. `trial` undefined = it is being read. */
export function TrialView({ trial, old = false }: { trial: Trial | undefined; old?: boolean }) {
  return (
    <section aria-label="What it would do" aria-busy={old} className="grid gap-2 rounded-md bg-canvas px-3 py-2">
      {trial === undefined ? (
        <Skeleton className="w-2/3" />
      ) : (
        <div className={old ? "grid gap-2 opacity-60" : "grid gap-2"}>
          <p role="status">{trialSentence(trial)}</p>
          {trial.fault ? <p className="text-danger">{trial.fault}</p> : null}
          <ul className="grid gap-2">
            {trial.samples.slice(0, SHOWN).map((sample) => (
              <li key={sample.id} className="min-w-0">
                <p className="flex flex-wrap items-baseline gap-x-2">
                  <TriedEvent id={sample.id} eventId={sample.eventId} />
                  <span className="text-muted">{visible(sample.source)}</span>
                </p>
                <p className="font-mono text-sm wrap-anywhere">
                  <span className="text-muted">{words(sample.before)}</span> <span aria-hidden>→</span>
                  <span className="sr-only">becomes</span>{" "}
                  <span className={sample.after === null ? "text-danger" : undefined}>{words(sample.after)}</span>
                </p>
                {sample.error === null ? null : (
                  <p className="truncate text-sm text-muted" data-tip={visible(sample.error)}>
                    {visible(sample.error)}
                  </p>
                )}
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

/** `UPSTREAM · “stock” · parked early` */
function words(admitted: Admitted): string {
  if (admitted === null) return "dropped";
  const { errorCode, group, mark } = admitted;
  return [
    visible(errorCode),
    ...(group === null ? [] : [`“${visible(group)}”`]),
    ...(mark === null ? [] : [MARK_WORDS[mark]]),
  ].join(" · ");
}
