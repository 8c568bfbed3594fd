import { beginningOf } from "@/lib/events/groups/group-verdict.pure";
import type { GroupFact } from "@/lib/observe/alerts/facts/alert-facts.pure";
import { alertKind, type BegunGroup, found, inScope, type WatchOf } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { AT_LEAST, CODED, QUIET } from "@/lib/observe/alerts/kinds/settings.pure";
import { formatDuration } from "@/lib/platform/plain/format.pure";

/** In this time after it began, a run of arrivals makes an alert; an evaluation that was late by less misses none. */
const BEGAN_MS = 3_600_000;

/** An upgrade regroups parked events within minutes; a new group is never kept from alerting for longer than this. */
const MAY_BE_KNOWN_MS = BEGAN_MS / 2;

const SETTINGS = { atLeast: AT_LEAST, quietMs: QUIET, ...CODED };
type GroupWatch<Name> = WatchOf<Name, typeof SETTINGS>;

/** A kind that watches how groups begin. An alert lasts until none of the group's events is parked, or none came for `quietMs`. */
export function groupKind<const Name extends string>({
  isFirst,
  sentence,
  ...own
}: {
  kind: Name;
  words: string;
  describe(watch: GroupWatch<Name>): string;
  isFirst: boolean;
  sentence(group: BegunGroup): string;
}) {
  return alertKind<Name, typeof SETTINGS, "groups">({
    ...own,
    runbook: "new-group",
    settings: SETTINGS,
    facts: "groups",
    isOfEvents: true,
    group: { isFirst, sentence },
    neverFires({ forMs }) {
      if (forMs < BEGAN_MS) return null;
      const detail = `a group counts as new for ${formatDuration(BEGAN_MS)}: use less, or the rule can never fire`;
      return { field: "forMs", detail };
    },
    judge: (watch, rows, { firing, nowMs }) =>
      inScope(watch, rows)
        .filter(({ errorCode }) => watch.errorCodes?.includes(errorCode) ?? true)
        .flatMap((row) => {
          const { fingerprint, source, errorCode, arrived } = row;
          const key = `${fingerprint}@${source}`;
          const holds = firing.has(key)
            ? row.parked > 0 && nowMs - row.lastMs < watch.quietMs
            : arrived >= watch.atLeast && (isFirst ? isNew(row, nowMs) : isBack(row, watch.quietMs, nowMs));
          if (!holds) return [];
          const finding = found({ key, source, subject: { fingerprint, errorCode } }, sentence(row));
          return [{ ...finding, value: arrived, threshold: watch.atLeast }];
        }),
  });
}

function isNew({ firstSeenMs, mayBeKnown }: GroupFact, nowMs: number): boolean {
  const ageMs = nowMs - firstSeenMs;
  return ageMs < BEGAN_MS && (!mayBeKnown || ageMs >= MAY_BE_KNOWN_MS);
}

function isBack({ runSinceMs, beforeMs }: GroupFact, quietMs: number, nowMs: number): boolean {
  return nowMs - runSinceMs < BEGAN_MS && beginningOf({ sinceMs: runSinceMs, beforeMs }, quietMs) === "back";
}
