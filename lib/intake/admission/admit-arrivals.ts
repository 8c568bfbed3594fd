import { groupOf } from "@/lib/events/groups/aliases/group-aliases.pure";
import { type Fingerprint, fingerprintOf, labelledGroup } from "@/lib/events/groups/fingerprint.pure";
import { type AdmissionRule, type Admitted, admit } from "@/lib/intake/admission/admission.pure";
import { type RulesInForce, readRulesInForce } from "@/lib/intake/admission/admission-rules.read";
import type { Arrival } from "@/lib/intake/arrival.shapes";
import { bodyReader } from "@/lib/platform/api/payload-pointer.shapes";
import type { Clock } from "@/lib/platform/clock";
import type { Queryable } from "@/lib/platform/database/db";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { storable } from "@/lib/platform/plain/storable.pure";
import { createTurns } from "@/lib/platform/turns";

/** An arrival that can be stored, as the rules of admission leave it, with its group. */
export type AdmittedArrival = Omit<Admitted, "group"> & {
  source: string;
  arrived: DeadLetter;
  /** The group that a rule named; null = grouped by its failure. */
  label: string | null;
  group: Fingerprint;
};

/** `revision`: of the rules and aliases that judged the arrivals. */
export type AdmittedBatch = { revision: bigint; arrivals: AdmittedArrival[] };

/** The rules were changed after they judged a batch. */
export class RulesChanged extends Error {}

/**
 * The rules as each store's last batch read them. Never stale for long: the transaction that stores a batch compares
 * their revision, in every process, and throws `RulesChanged`.
 */
const lastRead = new WeakMap<Queryable, RulesInForce>();

/**
 * Makes arrivals storable, applies the rules of admission to them and finds their groups. In turns with other work, and before the
 * transaction: a thousand long stacks take a while. `reread`: the rules have changed since they were read.
 */
export async function admitArrivals(
  { db, clock }: { db: Queryable; clock: Clock },
  arrivals: readonly Arrival[],
  { reread = false } = {},
): Promise<AdmittedBatch> {
  const known = reread ? undefined : lastRead.get(db);
  const inForce = known ?? (await readRulesInForce(db));
  lastRead.set(db, inForce);
  const rulesOf = bySource(inForce.rules);
  const turns = createTurns(clock);
  const admitted: AdmittedArrival[] = [];
  for (const { source, letter, storable: isStorable = false } of arrivals) {
    const one = admitOne(isStorable ? letter : storable(letter), source, rulesOf(source));
    one.group = groupOf(one.group, source, inForce.aliases);
    admitted.push(one);
    if (turns.due()) await turns.give();
  }
  return { revision: inForce.revision, arrivals: admitted };
}

/** What admission does where no rule applies, shared: most stores have none. */
const UNTOUCHED: Omit<Admitted, "letter"> = { group: null, mark: null, dropped: null, matched: [], failed: [] };

/** `rules`: those of `source`. The group is the computed one, whatever stands for it. */
export function admitOne(arrived: DeadLetter, source: string, rules: readonly AdmissionRule[]): AdmittedArrival {
  const admitted = rules.length === 0 ? null : admit(arrived, rules, bodyReader(arrived.payload));
  const letter = admitted?.letter ?? arrived;
  // Each field by its name: a rest takes as long as all else here, for each arrival.
  const { group: label, mark, dropped, matched, failed } = admitted ?? UNTOUCHED;
  const group = label === null ? fingerprintOf(letter) : labelledGroup(letter.errorCode, label);
  return { source, letter, mark, dropped, matched, failed, arrived, label, group };
}

export function bySource(rules: readonly AdmissionRule[]): (source: string) => readonly AdmissionRule[] {
  const found = new Map<string, readonly AdmissionRule[]>();
  return (source) => {
    let its = found.get(source);
    if (its === undefined) {
      its = rules.filter((rule) => rule.source === null || rule.source === source);
      found.set(source, its);
    }
    return its;
  };
}
