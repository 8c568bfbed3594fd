import { DomainError } from "@/lib/core/problem";
import type { LaneConnection } from "./connection";

const PLACE: Record<LaneConnection["kind"], string> = {
  redis: "Redis at REDIS_URL",
  postgres: "Postgres at DATABASE_URL",
};

/** The queue does not answer. What was asked for is stored, so the person is told that nothing is lost. */
export function queueUnreachable(kind: LaneConnection["kind"], cause: unknown): DomainError {
  return new DomainError(
    "queue-unavailable",
    `The queue (${PLACE[kind]}) cannot be reached. Redrives are stored and start by themselves when it is back; check that the server runs and that the variable is right.`,
    { internal: cause },
  );
}

/** The queue answers but must not be used; `fix` says what to change. */
export function queueUnfit(fix: string, cause?: unknown): DomainError {
  return new DomainError("queue-unavailable", fix, { internal: cause });
}

/** A DomainError as it is, anything else as an unreachable queue. */
export function asQueueProblem(kind: LaneConnection["kind"], error: unknown): DomainError {
  return error instanceof DomainError ? error : queueUnreachable(kind, error);
}
