import type { CheckAnswer, CheckedEvent } from "@/lib/brokers/port";
import { type Check, withFix } from "@/lib/redrive/gate/dry-run.pure";
import type { ExaminedItem } from "@/lib/redrive/run/examine";
import { sendKey } from "@/lib/redrive/run/send-key.pure";
import type { SliceTarget } from "@/lib/redrive/targets/target";
import type { EventBody } from "@/lib/selection/bodies.read";
import type { DryRunRefusal } from "@/lib/states/refusal.pure";

export type ItemToAsk = { examined: ExaminedItem; target: SliceTarget; body: EventBody };

export type OwnerJudgement = { finding: Check; refusal: DryRunRefusal | null };

/** The answer of a check call as a check of the dry run. No answer is not called passed. */
export function ownerFinding(
  answer: CheckAnswer,
  { refusesUnanswered }: { refusesUnanswered: boolean },
): OwnerJudgement {
  const check = "check-call";
  if ("unanswered" in answer) {
    const detail = `not answered: ${answer.unanswered}`;
    const fix = "check the endpoint of the target's owner, or remove it from the source";
    return refusesUnanswered
      ? { finding: { check, ok: false, detail, fix }, refusal: "check-unanswered" }
      : { finding: { check, ok: null, detail, fix }, refusal: null };
  }
  if (answer.take) return { finding: { check, ok: true, detail: "its owner accepts it" }, refusal: null };
  const finding: Check = { check, ok: false, detail: `its owner rejects it: ${answer.reason}` };
  const place = answer.pointer === null ? {} : { pointer: answer.pointer };
  return { finding: withFix({ ...finding, ...place }, "check-refused"), refusal: "check-refused" };
}

/**
 * Asks the owners of targets that have a check call, each once about all of its items. Others stay as they are. When
 * `signal` aborts, what would be sent goes back.
 */
export async function askOwners(items: readonly ItemToAsk[], signal: AbortSignal): Promise<Map<string, ExaminedItem>> {
  const byTarget = Map.groupBy(items, ({ target }) => target.row.id);
  const judged = new Map<string, ExaminedItem>();
  await Promise.all(
    [...byTarget.values()].map(async (asked) => {
      const { ownerCheck } = asked[0]!.target.publisher;
      if (!ownerCheck) return;
      const events = asked.map(({ examined, body }) => checkedEvent(examined.item, body));
      const answers = await ownerCheck.ask(events, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
        return null;
      });
      asked.forEach(({ examined }, index) => {
        const { id } = examined.item;
        if (answers !== null) judged.set(id, withAnswer(examined, answers[index]!, ownerCheck));
        else judged.set(id, { ...examined, send: null, decided: { kind: "back" } });
      });
    }),
  );
  return judged;
}

function withAnswer(
  examined: ExaminedItem,
  answer: CheckAnswer,
  options: { refusesUnanswered: boolean },
): ExaminedItem {
  const { finding, refusal } = ownerFinding(answer, options);
  const findings = [...examined.findings, finding];
  const passes = examined.decided === null || examined.decided.kind === "verified";
  if (refusal === null || !passes) return { ...examined, findings };
  return { ...examined, findings, send: null, decided: { kind: "refused", refusal, detail: finding.detail } };
}

type AskedFacts = Parameters<typeof sendKey>[0] &
  Pick<CheckedEvent, "id" | "aggregateType" | "aggregateId"> & { version: bigint | null };

export function checkedEvent(item: AskedFacts, body: EventBody): CheckedEvent {
  return {
    id: item.id,
    revision: item.revision,
    key: sendKey(item),
    eventType: body.eventType,
    aggregateType: item.aggregateType,
    aggregateId: item.aggregateId,
    version: item.version === null ? null : String(item.version),
    contentType: body.contentType,
    payload: body.payload,
  };
}
