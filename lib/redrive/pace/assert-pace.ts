import type { Tx } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { readPaceCeiling } from "@/lib/redrive/life/redrive.write";

/** Throws DomainError `above-ceiling` for a rate that the redrive's targets would not let it have. */
export async function assertRate(tx: Tx, id: string, asked: number | null | undefined): Promise<void> {
  if (typeof asked !== "number") return;
  const { ratePerSecond, targets } = await readPaceCeiling(tx, id);
  if (ratePerSecond === null || asked <= ratePerSecond) return;
  throw aboveCeiling(
    "ratePerSecond",
    `${targets} ${takes(targets)} at most ${ratePerSecond}/s`,
    `${ratePerSecond} or less, or raise the rate`,
  );
}

/** Throws DomainError `above-ceiling` for more sends at once than the redrive's targets have places. */
export async function assertConcurrency(tx: Tx, id: string, asked: number | null | undefined): Promise<void> {
  if (typeof asked !== "number") return;
  const { places, targets } = await readPaceCeiling(tx, id);
  if (places === null || asked <= places) return;
  throw aboveCeiling(
    "concurrency",
    `${targets} ${takes(targets)} at most ${places} sends at once`,
    `${places} or less, or raise the bulkhead`,
  );
}

const takes = (targets: string | null) => (targets?.includes(", ") ? "together take" : "takes");

function aboveCeiling(field: string, cause: string, fix: string): DomainError {
  const detail = `${cause}: choose ${fix} under Targets`;
  return new DomainError("above-ceiling", `${field}: ${detail}`, { fields: [{ field, detail }] });
}
