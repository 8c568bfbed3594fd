import { alertKind, found, HYSTERESIS } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { BELOW_SHARE } from "@/lib/observe/alerts/kinds/settings.pure";
import { formatShare } from "@/lib/platform/plain/format.pure";

/** The share of the limit that is left. */
export const STORAGE = alertKind({
  kind: "storage",
  words: "Storage almost full",
  runbook: "disk-full",
  settings: { belowShare: BELOW_SHARE },
  describe: ({ belowShare }) => `Less than ${formatShare(belowShare)} of the storage for events is free`,
  facts: "rooms",
  unit: "share",
  noPast: "Only the current room is measured; its past is not stored",
  judge: ({ belowShare }, rows, { firing }) =>
    rows.map(({ measure, limitBytes, leftBytes, sentence }) => {
      const value = limitBytes === 0 ? 1 : leftBytes / limitBytes;
      const key = `${measure}:${limitBytes}`;
      const limit = belowShare * (firing.has(key) ? 1 + HYSTERESIS : 1);
      return {
        ...found({ key, source: null, subject: {} }, sentence),
        ...{ holds: value < limit, value, threshold: belowShare },
      };
    }),
});
