import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import { alertKind, found, inScope } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { SCOPE } from "@/lib/observe/alerts/kinds/settings.pure";

export const CONTRACT = alertKind({
  kind: "contract",
  words: "A contract is broken",
  runbook: "contract-broken",
  settings: SCOPE,
  describe: () => "A target breaks its contract",
  facts: "contracts",
  noPast: "A contract is checked against current measurements; past ones are not stored",
  judge: (watch, rows) =>
    inScope(watch, rows)
      .filter(({ broken }) => broken.length > 0)
      .map(({ target, source, broken }) => {
        const whose = target === null ? `Source ${quoted(source)}` : `Target ${quoted(target)}`;
        // A source and the target of its main lane have one name, and each its own contract: no target is named `source:` and more.
        const key = target ?? `source:${source}`;
        const subject = target === null ? {} : { target };
        const sentence = `${whose} breaks its contract: ${quoted(broken.join(", "))}`;
        return { ...found({ key, source, subject }, sentence), value: broken.length };
      }),
});
