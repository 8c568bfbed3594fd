import type { RedriveRuleOut, RedriveRuleTry } from "@/lib/contract/redrive-rules";

/** What a stored rule does, as it is tried. */
export function bodyOf(rule: RedriveRuleOut): RedriveRuleTry["rule"] {
  const { filter, delayMs, redrivesPerEvent, lane, ratePerSecond, canary, brake } = rule;
  const { onlyIf, everyMs, limits, stopAtFailureRatio } = rule;
  return {
    ...{ filter, delayMs, redrivesPerEvent, lane, ratePerSecond, canary, brake },
    ...{ onlyIf, everyMs, limits, stopAtFailureRatio },
  } as RedriveRuleTry["rule"];
}
