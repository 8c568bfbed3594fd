import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import { alertKind, found } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { plural } from "@/lib/platform/plain/format.pure";

/** A finding of a check of the audit stands. */
export const AUDIT = alertKind({
  kind: "audit",
  words: "The audit does not match its seals",
  runbook: "audit",
  settings: {},
  describe: () => "A check of the audit found something",
  facts: "audit",
  noPast: "Only the current finding is evaluated; earlier ones are not",
  judge: (_, rows) =>
    rows.map(({ findings, first }) => {
      const sentence = `A check of the audit found ${plural(findings, "fault")}, the first: ${quoted(first)}`;
      return { ...found({ key: "audit", source: null, subject: {} }, sentence), value: findings };
    }),
});
