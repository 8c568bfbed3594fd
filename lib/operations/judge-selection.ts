import { type GateFacts, gate } from "@/lib/core/gate";
import { DomainError } from "@/lib/core/problem";
import type { ConfirmableRefusal } from "@/lib/core/refusal";
import { type Rules, readRules } from "@/lib/redriving/read-rules";
import type { Db, Queryable } from "@/lib/store/db";
import {
  type Candidate,
  type CandidateGroup,
  type CandidatePage,
  groupCandidates,
  readTouched,
  TOUCHED_MAX,
} from "@/lib/store/read/candidates";
import { type EarlierSummary, summarizeEarlier } from "@/lib/store/read/earlier-summary";

export type Selected = Omit<CandidatePage, "after" | "limit">;

/** The same for a redrive. `despite`: refusals that the person sets aside. */
export type SelectedForRedrive = Selected & { despite: readonly ConfirmableRefusal[] };

type Ruling = ReturnType<typeof gate>;

/**
 * A selection as the gate sees it: kinds of events with their number, and each single event that has its own control.
 */
export type JudgedSelection = {
  groups: { group: CandidateGroup; ruling: Ruling }[];
  touched: { candidate: Candidate; ruling: Ruling }[];
  redriveLimit: number;
};

/** Throws DomainError `read-timeout`, also when too many events stand under controls of their own. */
export async function judgeSelection(tx: Queryable, selected: SelectedForRedrive): Promise<JudgedSelection> {
  const rules = await readRules(tx);
  const touched = await readTouched(tx, selected, rules.controls);
  if (touched.length === TOUCHED_MAX) {
    throw new DomainError("read-timeout", "Too many events stand under their own controls to preview them one by one");
  }
  const { redriveLimit } = rules.settings;
  const groups = await groupCandidates(tx, selected, { redriveLimit, touched: touched.map(({ id }) => id) });
  return {
    groups: groups.map((group) => ({ group, ruling: ruleGroup(group, rules, selected) })),
    touched: touched.map((candidate) => ({ candidate, ruling: ruleOne(candidate, rules, selected) })),
    redriveLimit,
  };
}

/**
 * The events of a judged selection that are behind parked versions outside of it; null = not known within `timeoutMs`.
 */
export async function findEarlier(
  db: Db,
  selected: Selected,
  judged: JudgedSelection,
  timeoutMs: number,
): Promise<EarlierSummary | null> {
  const passing = {
    groups: judged.groups.filter(({ ruling }) => ruling.pass).map(({ group }) => group),
    touched: judged.touched.map(({ candidate, ruling }) => ({ id: candidate.id, passes: ruling.pass })),
    redriveLimit: judged.redriveLimit,
  };
  try {
    return await db.transaction((tx) => summarizeEarlier(tx, selected, passing), {
      statementTimeoutMs: timeoutMs,
      readOnly: true,
    });
  } catch (error) {
    if (error instanceof DomainError && error.code === "read-timeout") return null;
    throw error;
  }
}

type Asked = Pick<SelectedForRedrive, "asOfMs" | "despite">;

function ruleOne(facts: GateFacts, rules: Rules, { asOfMs, despite }: Asked) {
  const { redriveLimit } = rules.settings;
  return gate(facts, { controls: rules.index, redriveLimit, nowMs: asOfMs, at: "request", despite });
}

/** The gate decides alike for all members of the group, once events under their own control are taken out. */
function ruleGroup(group: CandidateGroup, rules: Rules, asked: Asked) {
  const facts = {
    ...group,
    eventId: "",
    aggregateType: null,
    aggregateId: null,
    cooldownUntilMs: group.cooling ? Number.POSITIVE_INFINITY : null,
    redrives: group.exhausted ? rules.settings.redriveLimit : 0,
  };
  return ruleOne(facts, rules, asked);
}
