import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import { alertKind, found, inScope } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { SCOPE } from "@/lib/observe/alerts/kinds/settings.pure";

export const BREAKER = alertKind({
  kind: "breaker",
  words: "The breaker of a target is open",
  runbook: "breaker-open",
  settings: SCOPE,
  describe: () => "The breaker of a target is open",
  facts: "targets",
  noPast: "Workers report only the current state of a breaker; its past is not stored",
  judge: (watch, rows) =>
    inScope(watch, rows)
      .filter(({ breaker }) => breaker.open)
      .map(({ target, source, breaker: { forced } }) => {
        const sentence = forced
          ? `Someone holds the breaker of ${quoted(target)} open: nothing is sent there`
          : `The breaker of ${quoted(target)} is open: its sends failed`;
        return found({ key: target, source, subject: { target } }, sentence);
      }),
});
