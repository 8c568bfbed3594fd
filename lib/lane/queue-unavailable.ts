import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { LaneConnection } from "./connection";

const PLACE: Record<LaneConnection["kind"], string> = {
  redis: "Redis at REDIS_URL",
  postgres: "Postgres at DATABASE_URL",
};

/** The queue does not answer. The request is stored all the same, and the message says so. */
export function queueUnreachable(kind: LaneConnection["kind"], cause: unknown): DomainError {
  return new DomainError(
    "queue-unavailable",
    `The queue (${PLACE[kind]}) cannot be reached. Redrives are stored and start automatically when it is back; check that the server runs and that the variable is right.`,
    { internal: cause },
  );
}

/** The queue answers but must not be used; `fix` says what to change. */
export function queueUnfit(fix: string, cause?: unknown): DomainError {
  return new DomainError("queue-unavailable", fix, { internal: cause });
}

/** Redis begins each error with its code. These say that it answers and refuses every write. */
const WRITE_REFUSED: Record<string, string> = {
  OOM: "its memory is full: raise maxmemory, or give it to Parkade alone",
  MISCONF: "it cannot save to its disk: free some space there, or check its log",
  READONLY: "it is a replica: point REDIS_URL at the primary",
  CLUSTERDOWN: "some slots of its cluster have no master: bring that node back, or let a replica take over",
  NOREPLICAS: "it has too few replicas: bring them back, or lower min-replicas-to-write",
};

function writeRefusal(error: unknown): string | null {
  if (!(error instanceof Error) || error.name !== "ReplyError") return null;
  return WRITE_REFUSED[error.message.split(" ", 1)[0]!] ?? null;
}

/** A DomainError as it is, a refusal to write by its name, anything else as an unreachable queue. */
export function asQueueProblem(kind: LaneConnection["kind"], error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  const refusal = writeRefusal(error);
  if (refusal === null) return queueUnreachable(kind, error);
  return queueUnfit(
    `The queue (${PLACE[kind]}) refuses to write, ${refusal}. Redrives are stored and start automatically when it accepts writes again.`,
    error,
  );
}
