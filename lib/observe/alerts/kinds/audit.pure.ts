import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import { alertKind, found } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { plural } from "@/lib/platform/plain/format.pure";

/** A finding of a check of the audit stands. */
export const AUDIT = alertKind({
  kind: "audit",
  words: "The audit log is not intact",
  runbook: "audit",
  settings: {},
  describe: () => "Verification of the audit log found a fault",
  facts: "audit",
  noPast: "Only the current finding is evaluated; earlier ones are not",
  judge: (_, rows) =>
    rows.map(({ findings, first }) => {
      const sentence = `Verification of the audit log found ${plural(findings, "fault")}, the first: ${quoted(first)}`;
      return { ...found({ key: "audit", source: null, subject: {} }, sentence), value: findings };
    }),
});
