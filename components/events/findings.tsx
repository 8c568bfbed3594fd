import { classNames } from "@/components/ui/class-names";
import { Shape } from "@/components/ui/shape";
import type { Finding } from "@/lib/events/detail/history-text.pure";

const LOOKS = {
  passed: { shape: "check", colour: "text-ok" },
  warning: { shape: "triangle", colour: "text-warning" },
  failed: { shape: "cross", colour: "text-danger" },
  "not checked": { shape: "ring", colour: "text-faint" },
} as const;

function resultOf({ ok, warning }: Finding): keyof typeof LOOKS {
  if (ok === null) return "not checked";
  if (!ok) return "failed";
  return warning ? "warning" : "passed";
}

/** The checks of a dry run: what was looked at, with what result, and what to do about it. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  return (
    <ul className="mt-1 flex flex-col gap-0.5 text-sm">
      {findings.map((finding) => {
        const result = resultOf(finding);
        const { shape, colour } = LOOKS[result];
        return (
          <li key={finding.check} className="flex items-start gap-1.5">
            <Shape name={shape} className={classNames("mt-0.5 shrink-0", colour)} />
            <span className="sr-only">{result}:</span>
            <span className="w-36 shrink-0 font-mono">{finding.check}</span>
            <span className="wrap-anywhere text-muted">
              {finding.detail}
              {finding.fix ? <span className="block text-ink">To do: {finding.fix}</span> : null}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
