import { classNames } from "@/components/ui/class-names";
import { Shape, type ShapeName } from "@/components/ui/shape";
import { plural } from "@/lib/platform/plain/format.pure";
import type { Assertion, ContractReport } from "@/lib/sources/contracts/assertion.pure";

type Result = Assertion["result"];

const LOOKS: Record<Result, { shape: ShapeName; colour: string; word: string }> = {
  holds: { shape: "disc", colour: "text-ok", word: "HOLDS" },
  broken: { shape: "cross", colour: "text-danger", word: "BROKEN" },
  unknown: { shape: "ring", colour: "text-muted", word: "UNKNOWN" },
};

const ORDER: readonly Result[] = ["broken", "unknown", "holds"];

/** What each assertion is about, in a few words; one that is newer than the page shows its name. */
const WORDS: Record<string, string> = {
  semantics: "Retries as its semantics allow",
  "dedup-window": "Keys are remembered long enough",
  "key-stability": "Retries carry the key of the first send",
  "no-side-effect-dup": "No event takes effect twice",
  latency: "Answers as soon as promised",
  queueing: "Wait and work fit one timeout",
  deadline: "All attempts fit the deadline",
  "critical-path": "Ends before its callers give up",
  success: "Succeeds as often as promised",
  "retry-ratio": "Retries within the budget",
  "duplicate-ratio": "Duplicate rate within its limit",
  "timeout-ratio": "Timeout rate within its limit",
  load: "Load within its limit",
  "known-days": "Parkade remembers events at least as long as the consumers do",
  age: "No event waits too long",
  drain: "All parked events can be sent in time",
};

/** Names of fields as the forms have them; other words of the API are shown as they are. */
const FIELDS: Record<string, string> = {
  dedupWindowMs: "dedup window",
  reorderingSpanMs: "reordering span",
  promisedLatencyMs: "promised time",
  callerDeadlineMs: "caller deadline",
  promisedSuccess: "success rate",
  expectedPerSecond: "expected rate",
};

const plainWords = (reason: string) => reason.replace(/\b[a-z]+[A-Z]\w*/g, (name) => FIELDS[name] ?? name);

/** Each assertion with its numbers and formula, what is broken first. Of an unknown one the number that lacks. */
export function AssertionList({ assertions, wide = false }: Pick<ContractReport, "assertions"> & { wide?: boolean }) {
  const sorted = [...assertions].sort((a, b) => ORDER.indexOf(a.result) - ORDER.indexOf(b.result));
  return (
    <dl className={classNames("grid gap-x-6 gap-y-2 text-sm", wide ? "md:grid-cols-2" : "grid-cols-[minmax(0,1fr)]")}>
      {sorted.map(({ id, result, formula, numbers, reason }) => (
        <div key={id} className="min-w-0">
          <dt className="flex flex-wrap items-baseline gap-x-2">
            <ResultWord result={result} />
            <span className={result === "unknown" ? "text-muted" : "font-medium"}>{WORDS[id] ?? id}</span>
          </dt>
          {reason === null ? (
            <>
              <dd className="font-mono wrap-anywhere">{numbers}</dd>
              <dd className="text-faint wrap-anywhere">{formula}</dd>
            </>
          ) : (
            <dd className="text-faint wrap-anywhere" data-tip={formula}>
              {plainWords(reason)}
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}

export function ResultWord({ result }: { result: Result }) {
  const { shape, colour, word } = LOOKS[result];
  return (
    <span className={classNames("inline-flex items-center gap-1", colour)}>
      <Shape name={shape} />
      <span className="font-mono">{word}</span>
    </span>
  );
}

/** `10 assertions: 2 broken, 5 hold, 3 unknown`; what is not there is left out. */
export function countText({ assertions }: Pick<ContractReport, "assertions">): string {
  const count = (result: Result) => assertions.filter((each) => each.result === result).length;
  const parts = ORDER.flatMap((result) => {
    const number = count(result);
    if (number === 0) return [];
    return `${number} ${result === "holds" ? (number === 1 ? "holds" : "hold") : result}`;
  });
  return `${plural(assertions.length, "assertion")}: ${parts.join(", ")}`;
}
