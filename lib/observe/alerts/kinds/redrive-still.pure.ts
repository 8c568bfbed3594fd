import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import { alertKind, found } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { SCOPE } from "@/lib/observe/alerts/kinds/settings.pure";

export const REDRIVE_STILL = alertKind({
  kind: "redrive-still",
  words: "A redrive is stuck",
  runbook: "redrive-waits",
  settings: SCOPE,
  describe: () => "A redrive is stuck",
  facts: "redrives",
  noPast: "Whether a redrive is stuck is known only while it runs; its past is not stored",
  judge: (watch, rows) =>
    rows
      .filter(({ sources }) => watch.sources?.some((source) => sources.includes(source)) ?? true)
      .map(({ id, sources, reason, why }) => {
        const source = sources.length === 1 ? sources[0]! : null;
        const sentence = `Redrive "${quoted(reason)}" is stuck: ${quoted(why)}`;
        return found({ key: id, source, subject: { redriveId: id } }, sentence);
      }),
});
