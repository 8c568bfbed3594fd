import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type RedriveRow, readRedriveRow } from "@/lib/redrive/life/redrive.write";
import { countAttempts, type DecidedAttempt, readDecidedAttempts } from "@/lib/redrive/list/decided-attempts.read";
import type { StoredDecision } from "@/lib/redrive/run/attempt-record";
import { policiesInForce } from "@/lib/redrive/targets/policies";
import { POLICY_PRESETS, type Policy, parsePolicy } from "@/lib/retry/policy";
import { type Difference, replay } from "@/lib/retry/replay";
import { unknownRedrive } from "@/lib/states/unknown.pure";

/** Maximum number of differences in the list; all of them are counted. */
const LISTED_MAX = 100;

type ReplayRequest = {
  redriveId: string;
  /** The producer's event id, or our id of the event; null = all events of the redrive. */
  eventId: string | null;
  /** Name of another policy: its current version decides. null = the recorded version. */
  policyName: string | null;
};

export type ReplayReport = {
  attempts: number;
  /** Number of attempts with a recorded decision, all of which were decided again. */
  decisions: number;
  /** Decisions that come out differently. */
  different: number;
  listed: (Difference & { eventId: string })[];
};

/**
 * Decides every recorded failure of a redrive again from what was stored with it. With the recorded policy `different`
 * is 0 as long as the engine decides as it did. Throws DomainError `unknown-redrive`, `unknown-event`, `unknown-policy`.
 */
export async function replayAttempts(db: Queryable, request: ReplayRequest): Promise<ReplayReport> {
  const redrive = await readRedriveRow(db, request.redriveId);
  if (!redrive) throw unknownRedrive(request.redriveId, "redriveId");
  const attempts = await countAttempts(db, request);
  if (attempts === 0 && request.eventId !== null) {
    throw new DomainError("unknown-event", `Redrive ${redrive.id} has sent no event ${request.eventId}`);
  }
  const other = request.policyName === null ? null : await policyInForce(db, request.policyName);
  const report: ReplayReport = { attempts, decisions: 0, different: 0, listed: [] };
  for await (const page of readDecidedAttempts(db, request)) {
    for (const attempt of page) {
      report.decisions++;
      for (const difference of replayOne(redrive, attempt, other)) {
        report.different++;
        if (report.listed.length < LISTED_MAX) {
          report.listed.push({ ...difference, eventId: attempt.eventId ?? attempt.id });
        }
      }
    }
  }
  return report;
}

function replayOne(redrive: RedriveRow, attempt: DecidedAttempt, other: Policy | null): Difference[] {
  const { policy, retryable, ...decided } = attempt.decision as StoredDecision;
  const call = { idempotencyKey: attempt.idempotencyKey, retryable };
  const recorded = recordedPolicy(redrive, policy);
  return replay({ policy: recorded, call, attempts: [{ ...decided, attempt: attempt.attempt }] }, other ?? recorded);
}

/** The version that the redrive has frozen. For a policy without a stored version the preset decided, as version 0. */
function recordedPolicy(redrive: RedriveRow, { name, version }: StoredDecision["policy"]): Policy {
  const frozen = redrive.policies[name] as { version: number; body: unknown } | undefined;
  if (frozen?.version === version) return parsePolicy(frozen.body);
  return POLICY_PRESETS[name as keyof typeof POLICY_PRESETS] ?? POLICY_PRESETS["slow-lane"];
}

async function policyInForce(db: Queryable, name: string): Promise<Policy> {
  const found = (await policiesInForce(db))[name];
  if (!found) throw new DomainError("unknown-policy", `There is no policy ${name}`);
  return parsePolicy(found.body);
}
