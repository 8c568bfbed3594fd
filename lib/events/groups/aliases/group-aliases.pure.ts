import { matchesTemplate, type Template, tokensOf } from "@/lib/events/groups/aliases/storm-template.pure";
import type { Fingerprint } from "@/lib/events/groups/fingerprint.pure";

/**
 * Which group stands for another. `dlq_events.fingerprint` is the group that an event is in; the rules of grouping only
 * compute a fingerprint, and the aliases decide which group it means.
 *
 * The most specific alias decides: one of the fingerprint itself (merged by a person, split off by one, or kept apart
 * because it is older than a storm), then the storm of its family and source whose template its pattern matches, then
 * the fingerprint as it was computed.
 */
export type GroupAliases = {
  /** Targets by computed fingerprint; a target that is the fingerprint itself keeps it out of storms. */
  targets: ReadonlyMap<string, string>;
  /** By family. */
  storms: ReadonlyMap<string, readonly StormAlias[]>;
};

type StormAlias = { source: string; template: Template; text: string; target: string };

/** As it is stored. `family`, `source` and `template` are null unless it is the template of a storm. */
export type AliasRow = {
  fingerprint: string;
  target: string;
  family: string | null;
  source: string | null;
  template: string | null;
};

export function aliasesOf(rows: readonly AliasRow[]): GroupAliases {
  const targets = new Map<string, string>();
  const storms = new Map<string, StormAlias[]>();
  for (const { fingerprint, target, family, source, template } of rows) {
    if (family === null) {
      targets.set(fingerprint, target);
    } else if (source !== null && template !== null) {
      const its = storms.get(family) ?? [];
      its.push({ source, template: tokensOf(template), text: template, target });
      storms.set(family, its);
    }
  }
  return { targets, storms };
}

/**
 * The group that a failure of this source belongs to, with the text that the group gets if it is not stored: that of the failure, or
 * the template of its storm.
 */
export function groupOf(computed: Fingerprint, source: string, { targets, storms }: GroupAliases): Fingerprint {
  const target = targets.get(computed.fingerprint);
  if (target === computed.fingerprint) return computed;
  if (target !== undefined) return { ...computed, fingerprint: target };
  const storm = stormOf(computed, source, storms);
  if (storm === undefined) return computed;
  // The group of a storm is in no family: it is never a part of the next one.
  return { ...computed, fingerprint: storm.target, pattern: storm.text, family: storm.target };
}

function stormOf(
  { family, pattern }: Fingerprint,
  source: string,
  storms: GroupAliases["storms"],
): StormAlias | undefined {
  const its = storms.get(family);
  if (its === undefined) return undefined;
  const tokens = tokensOf(pattern);
  return its.find((storm) => storm.source === source && matchesTemplate(storm.template, tokens));
}
