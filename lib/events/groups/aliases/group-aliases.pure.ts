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

type StormAlias = { source: string; template: Template; target: string };

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
      its.push({ source, template: tokensOf(template), target });
      storms.set(family, its);
    }
  }
  return { targets, storms };
}

/** The group that a failure of this source belongs to, named by what the rules computed for it. */
export function groupOf(computed: Fingerprint, source: string, { targets, storms }: GroupAliases): Fingerprint {
  const target = targets.get(computed.fingerprint) ?? stormOf(computed, source, storms);
  return target === undefined || target === computed.fingerprint ? computed : { ...computed, fingerprint: target };
}

function stormOf({ family, pattern }: Fingerprint, source: string, storms: GroupAliases["storms"]): string | undefined {
  const its = storms.get(family);
  if (its === undefined) return undefined;
  const tokens = tokensOf(pattern);
  return its.find((storm) => storm.source === source && matchesTemplate(storm.template, tokens))?.target;
}
