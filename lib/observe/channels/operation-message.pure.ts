import { type AlertMessage, LISTED_MAX } from "@/lib/observe/channels/alert-message.pure";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";

/** A redrive or a bulk operation as a message tells of it. Times are epoch milliseconds. */
export type ReportedOperation = {
  id: string;
  /** `redrive`, `verify`, or the kind of the bulk operation. */
  kind: string;
  state: string;
  reason: string;
  createdBy: string;
  cancelledBy: string | null;
  createdAtMs: number;
  total: number;
  /** How many events ended how, in the order in which they are said: `{ delivered: 12, failed: 3 }`. */
  ends: Record<string, number>;
  failedByReason: Record<string, number>;
  refusedByReason: Record<string, number>;
};

const KIND_WORDS: Record<string, string> = {
  redrive: "Redrive",
  verify: "Dry run",
  ignore: "Ignore",
  release: "Release",
  confirm: "Confirmation",
  mend: "Mend",
  "undo-mend": "Undo of a mend",
  remove: "Removal",
  expire: "Expiry",
};

function operationPath({ id, kind }: Pick<ReportedOperation, "id" | "kind">): string {
  return kind === "redrive" || kind === "verify" ? `/redrives/${id}` : `/operations/${id}`;
}

/** `120 delivered, 3 failed of 125`; what is zero is not said. */
function endsWords({ ends, total }: Pick<ReportedOperation, "ends" | "total">): string {
  const parts = Object.entries(ends).flatMap(([end, count]) => (count > 0 ? [`${formatNumber(count)} ${end}`] : []));
  return `${parts.length === 0 ? "nothing was done" : parts.join(", ")} of ${formatNumber(total)}`;
}

/** Causes that a message lists, those of the most events first. */
function causesOf({ failedByReason, refusedByReason }: ReportedOperation, url: string) {
  const listed = (word: string, reasons: Record<string, number>) =>
    Object.entries(reasons).map(([reason, count]) => ({ sentence: `${word}: ${reason}`, count, url }));
  return [...listed("failed", failedByReason), ...listed("refused", refusedByReason)]
    .sort((left, right) => right.count - left.count)
    .slice(0, LISTED_MAX);
}

type Moment = { nowMs: number; publicUrl: string };

function messageOf(
  operation: ReportedOperation,
  { event, sentence, severity }: Pick<AlertMessage, "event" | "sentence" | "severity">,
  { nowMs, publicUrl }: Moment,
): AlertMessage {
  const url = `${publicUrl}${operationPath(operation)}`;
  const groups = causesOf(operation, url);
  const since = iso(operation.createdAtMs);
  const about = { id: operation.id, sentence, source: null, since, value: null, usual: null, acknowledgedBy: null };
  return {
    ...{ event, sentence, severity, since, url },
    recordKey: `parkade/operation/${operation.id}`,
    rule: `${KIND_WORDS[operation.kind] ?? operation.kind} by ${operation.createdBy}: ${operation.reason}`,
    kind: null,
    at: iso(nowMs),
    firing: 0,
    alerts: groups.length === 0 ? [] : [{ ...about, url, samples: [], groups }],
    runbookUrl: null,
  };
}

/** It has ended. A warning when some of its events failed. */
export function endedMessage(operation: ReportedOperation, moment: Moment): AlertMessage {
  const { kind, state, cancelledBy } = operation;
  const name = KIND_WORDS[kind] ?? kind;
  const ended = state === "CANCELLED" ? `was cancelled${cancelledBy === null ? "" : ` by ${cancelledBy}`}` : "ended";
  const failed = operation.ends.failed ?? 0;
  const sentence = `${name} ${ended}: ${endsWords(operation)}`;
  return messageOf(operation, { event: "ended", sentence, severity: failed > 0 ? "warning" : "info" }, moment);
}

export function standsStillMessage(operation: ReportedOperation, why: string, moment: Moment): AlertMessage {
  const sentence = `${KIND_WORDS[operation.kind] ?? operation.kind} is stuck, ${endsWords(operation)}: ${why}`;
  return messageOf(operation, { event: "stands-still", sentence, severity: "warning" }, moment);
}
