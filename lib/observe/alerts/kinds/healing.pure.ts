import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import { alertKind, found, inScope } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { SCOPE } from "@/lib/observe/alerts/kinds/settings.pure";
import { plural } from "@/lib/platform/plain/format.pure";

export const HEALING = alertKind({
  kind: "healing",
  words: "Sends to a target are slowed down",
  runbook: "sends-slowed-down",
  settings: SCOPE,
  describe: () => "Sends to a target are slowed down",
  facts: "targets",
  noPast: "Workers report only the current slow-down; its past is not stored",
  judge: (watch, rows) =>
    inScope(watch, rows)
      .filter(({ healingSteps }) => healingSteps > 0)
      .map(({ target, source, healingSteps: steps }) => {
        const sentence = `Sends to ${quoted(target)} are slowed down by ${plural(steps, "step")}: too many were retried or timed out`;
        return { ...found({ key: target, source, subject: { target } }, sentence), value: steps };
      }),
});
