import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import { SOURCE_FAULTS, type SourceFault } from "@/lib/observe/alerts/facts/alert-facts.pure";
import { alertKind, found, inScope } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { SCOPE } from "@/lib/observe/alerts/kinds/settings.pure";

const FAULT_WORDS: Record<SourceFault, string> = {
  failing: "cannot be read",
  unreachable: "cannot be reached",
  unread: "is read by no worker",
};

export const SOURCE = alertKind({
  kind: "source",
  words: "A source is not being read",
  runbook: "source-failing",
  settings: { states: { input: "choices", label: "when it is", choices: SOURCE_FAULTS }, ...SCOPE },
  describe: ({ states }) => `A source is ${states.join(" or ")}`,
  facts: "sources",
  noPast: "Workers report only the current state of a source; its past is not stored",
  judge: (watch, rows) =>
    inScope(watch, rows)
      .filter(({ fault }) => watch.states.includes(fault))
      .map(({ source, fault, detail }) => {
        const why = detail === "" ? "" : `: ${quoted(detail)}`;
        return found({ key: source, source, subject: {} }, `Source ${quoted(source)} ${FAULT_WORDS[fault]}${why}`);
      }),
});
