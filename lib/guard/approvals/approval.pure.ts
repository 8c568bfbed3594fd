import { LOCAL_ACTOR, samePerson } from "@/lib/guard/viewer/actor.pure";
import { may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { plural } from "@/lib/platform/plain/format.pure";
import { canonicalJson } from "@/lib/platform/plain/json-text.pure";

/** What the request for approval is about. */
export const APPROVAL_SUBJECTS = ["redrive", "operation"] as const;
export type ApprovalSubject = (typeof APPROVAL_SUBJECTS)[number];

/** Why a second person is needed. */
export type ApprovalCause =
  | { kind: "size"; events: number; above: number }
  | { kind: "source"; name: string }
  | { kind: "target"; name: string };

/** `more than 1,000 events`, `source orders is marked`. */
export function causeWords(cause: ApprovalCause): string {
  return cause.kind === "size" ? `more than ${plural(cause.above, "event")}` : `${cause.kind} ${cause.name} is marked`;
}

/** `above`: the setting `approvalAbove`, 0 = off. `sources` and `targets`: the marked ones that it meets. */
export function approvalCauses(facts: {
  events: number;
  above: number;
  sources: readonly string[];
  targets: readonly string[];
}): ApprovalCause[] {
  const { events, above } = facts;
  return [
    ...(above > 0 && events > above ? [{ kind: "size" as const, events, above }] : []),
    ...facts.sources.map((name) => ({ kind: "source" as const, name })),
    ...facts.targets.map((name) => ({ kind: "target" as const, name })),
  ];
}

/** What the approval is for. Any other value needs another approval, but for those that `exceeds` names as less. */
export type ApprovalTerms = {
  /** Hash over the ids and revisions of the manifest's events. */
  manifest: string;
  events: number;
  /** null for a mend, like `target` and `ratePerSecond`. */
  lane: string | null;
  /** null = the target of each event's source on the lane. */
  target: string | null;
  /** null = the targets' own rates. */
  ratePerSecond: number | null;
  canary: CanaryTerms | null;
  brake: unknown;
  earlier: string | null;
  despite: readonly string[];
  /** ISO 8601: the time when it may start; absent = at once. */
  startAt?: string;
  /** Of a mend: the recipe. */
  recipe: unknown;
};

/**
 * The fields by which `now` is more than what was approved, or something else. A lower rate, a canary or a brake where
 * there was none, and a canary that begins again are less. Events that were ignored or blacklisted meanwhile are still in
 * the manifest's hash: fewer are sent than were approved. `sentBefore`: sends before a canary that begins again now; null =
 * none does.
 */
export function exceeds(
  approved: ApprovalTerms,
  now: ApprovalTerms,
  sentBefore: number | null = null,
): (keyof ApprovalTerms)[] {
  const fields: (keyof ApprovalTerms)[] = [];
  for (const field of ["manifest", "lane", "target", "earlier", "despite", "recipe"] as const) {
    if (canonicalJson(approved[field]) !== canonicalJson(now[field])) fields.push(field);
  }
  if ((now.ratePerSecond ?? Number.POSITIVE_INFINITY) > (approved.ratePerSecond ?? Number.POSITIVE_INFINITY)) {
    fields.push("ratePerSecond");
  }
  if (approved.startAt !== undefined && (now.startAt ?? "") < approved.startAt) fields.push("startAt");
  if (approved.canary !== null && (now.canary === null || isLooser(approved.canary, now.canary, sentBefore))) {
    fields.push("canary");
  }
  if (approved.brake !== null && canonicalJson(approved.brake) !== canonicalJson(now.brake)) fields.push("brake");
  return fields;
}

type CanaryTerms = { steps: readonly number[]; quietMs: number; stopAtFailureRatio: number; window: number };

/**
 * Whether the canary lets events go sooner than the approved one. A canary that begins again has steps that include the
 * events that were sent before.
 */
function isLooser(approved: CanaryTerms, now: CanaryTerms, sentBefore: number | null): boolean {
  const { quietMs, stopAtFailureRatio, window } = approved;
  if (now.quietMs < quietMs || now.stopAtFailureRatio > stopAtFailureRatio || now.window !== window) return true;
  if (sentBefore !== null && now.steps[0]! - sentBefore > approved.steps[0]!) return true;
  const growth = ({ steps }: CanaryTerms) => steps.slice(1).map((step, at) => step - steps[at]!);
  const [before, after] = [growth(approved), growth(now)];
  return before.length > after.length || before.some((size, at) => after[at]! > size);
}

/** Who had a part in asking: `rule` wrote or switched on the rule that asked. */
export type Asker = { name: string; part: "asked" | "rule" };

/**
 * Why the viewer can neither approve nor reject what these people asked for; null = the viewer can. The name of an account never
 * changes, and no other account has one that looks like it: accounts that differ here are two.
 */
export function cannotDecide(askers: readonly Asker[], viewer: Viewer): string | null {
  const { name, means } = viewer;
  if (!may(viewer, "approve")) return `${name} may not approve: ask an administrator`;
  if (means === "system") return "a person approves, not a part of Parkade";
  if (samePerson(name, LOCAL_ACTOR)) return "a person approves under a name: set yours in the console, or send x-actor";
  const asker = askers.find((each) => samePerson(each.name, name));
  if (asker === undefined) return null;
  const did = asker.part === "asked" ? "asked for it" : "wrote or enabled the rule that asked for it";
  const alike = asker.name === name ? "" : `, and ${name} may be the same person`;
  return `${asker.name} ${did}: another person approves or rejects it${alike}. Cancel it to take it back`;
}
