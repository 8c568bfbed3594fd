import { isDeepStrictEqual } from "node:util";
import { auditTrial } from "@/lib/guard/masking/audit-trial";
import { maskBody, maskHeaders, maskNullable, maskTags } from "@/lib/guard/masking/mask.pure";
import { type MaskSet, type Masks, setFor } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { assertMay, may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { AdmissionRule, RuleBody } from "@/lib/intake/admission/admission.pure";
import type { Trial, TryRequest } from "@/lib/intake/admission/admission.shapes";
import { readRulesInForce } from "@/lib/intake/admission/admission-rules.read";
import { type AdmittedArrival, admitOne, bySource } from "@/lib/intake/admission/admit-arrivals";
import { type RecentLetter, readRecentLetters } from "@/lib/intake/admission/recent-letters.read";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { createTurns } from "@/lib/platform/turns";
import { scopeSelection } from "@/lib/selection/scope.shapes";

const TRY_TIMEOUT_MS = 4_000;
const SAMPLES_MAX = 10;
const ERROR_CHARS_MAX = 300;
/** The id of a rule that is not stored. */
const DRAFT = "draft";

export type TryDeps = { db: Db; clock: Clock };

/**
 * Applies a rule to the newest stored events of its source, and changes nothing: each event is admitted by the rules in
 * force without the rule and with it, as it arrived. Messages that a rule drops are not stored, so they are not among
 * the events. Users without `reveal` try it on the masked events; trials of others are audited. Throws
 * DomainError `read-timeout`.
 */
export async function tryAdmissionRule(deps: TryDeps, request: TryRequest, viewer: Viewer): Promise<Trial> {
  const { source = null, when, do: effect } = request.rule;
  assertMay(viewer, "change-admission", source === null ? [] : [source]);
  const nowMs = deps.clock.wallMs();
  const selection = scopeSelection(viewer, "view", { filter: source === null ? {} : { source: [source] } });
  const masks = await readMasks(deps.db);
  const [inForce, letters] = await deps.db.transaction(
    async (tx) =>
      [await readRulesInForce(tx), await readRecentLetters(tx, { selection, nowMs, limit: request.newest })] as const,
    { statementTimeoutMs: TRY_TIMEOUT_MS, readOnly: true },
  );
  const turns = createTurns(deps.clock);
  const shown: RecentLetter[] = [];
  for (const letter of letters) {
    if (turns.due()) await turns.give();
    shown.push(asShown(letter, masks.of(letter.source)));
  }
  const trial = await judge(
    deps,
    { id: request.id, source, when, do: effect },
    { rules: inForce.rules, letters: may(viewer, "reveal") ? letters : shown, masks },
  );
  const masked = letters.filter(({ letter }, index) => !isDeepStrictEqual(letter, shown[index]!.letter));
  if (may(viewer, "reveal"))
    await auditTrial(deps, viewer, {
      ...{ kind: "admission-rule", text: JSON.stringify({ when, do: effect }) },
      sources: masked.map((letter) => letter.source),
    });
  return trial;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Masks everything that a rule can match. A payload that is not text is left out. */
function asShown({ letter, ...rest }: RecentLetter, set: MaskSet): RecentLetter {
  const { error, headers, tags, payload } = letter;
  return {
    ...rest,
    letter: {
      ...letter,
      error: {
        type: maskNullable(error.type, set),
        message: maskNullable(error.message, set),
        stack: maskNullable(error.stack, set),
      },
      headers: maskHeaders(headers, set),
      tags: maskTags(tags, set),
      payload: maskedBytes(payload, setFor(set, false)),
    },
  };
}

function maskedBytes(payload: Uint8Array, set: MaskSet): Uint8Array {
  try {
    const text = utf8.decode(payload);
    const shown = maskBody(text, set).text;
    return shown === text ? payload : Buffer.from(shown);
  } catch {
    return new Uint8Array();
  }
}

async function judge(
  { clock }: TryDeps,
  draft: RuleBody & { id: string | undefined; source: string | null },
  { rules, letters, masks }: { rules: readonly AdmissionRule[]; letters: readonly RecentLetter[]; masks: Masks },
): Promise<Trial> {
  const rule: AdmissionRule = { ...draft, id: DRAFT, name: DRAFT, version: 1 };
  const place = rules.findIndex(({ id }) => id === draft.id);
  const without = bySource(rules.filter(({ id }) => id !== draft.id));
  const withIt = bySource(place < 0 ? [...rules, rule] : rules.with(place, rule));
  const trial: Trial = { checked: 0, matched: 0, dropped: 0, changed: 0, failed: 0, fault: null, samples: [] };
  const turns = createTurns(clock);
  for (const { id, source, firstSeen, letter, superseded } of letters) {
    if (turns.due()) await turns.give();
    const before = admitOne(letter, source, without(source));
    const after = admitOne(letter, source, withIt(source));
    trial.checked++;
    const failed = after.failed.find((each) => each.id === DRAFT);
    if (failed) {
      trial.failed++;
      trial.fault ??= failed.fault;
    }
    const drops = after.dropped?.id === DRAFT;
    if (!drops && !after.matched.some((each) => each.id === DRAFT)) continue;
    trial.matched++;
    if (drops) trial.dropped++;
    const [was, is] = [shown(before, superseded), shown(after, superseded)];
    if (JSON.stringify(was) !== JSON.stringify(is)) trial.changed++;
    if (trial.samples.length === SAMPLES_MAX) continue;
    const error = letter.error.message ?? letter.error.type;
    trial.samples.push({
      ...{ id, eventId: letter.eventId, source, firstSeen },
      error: maskNullable(error, masks.of(source))?.slice(0, ERROR_CHARS_MAX).toWellFormed() ?? null,
      before: was,
      after: is,
    });
  }
  return trial;
}

type Shown = NonNullable<Trial["samples"][number]["after"]>;

/** null = dropped. */
function shown({ dropped, letter, label, mark }: Omit<AdmittedArrival, "source">, superseded: boolean): Shown | null {
  if (dropped !== null) return null;
  return { errorCode: letter.errorCode, group: label, mark: mark ?? (superseded ? "superseded" : null) };
}
