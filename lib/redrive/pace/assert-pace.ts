import type { Tx } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { readPaceCeiling } from "@/lib/redrive/life/redrive.write";

/** Throws DomainError `above-ceiling` for a rate, or sends at once, above what the redrive's targets take together. */
export async function assertPace(
  tx: Tx,
  id: string,
  name: "ratePerSecond" | "concurrency",
  asked: number | null | undefined,
): Promise<void> {
  if (typeof asked !== "number") return;
  const { ratePerSecond, places, targets } = await readPaceCeiling(tx, id);
  const most = name === "ratePerSecond" ? ratePerSecond : places;
  if (most === null || asked <= most) return;
  const [unit, bound] = name === "ratePerSecond" ? ["/s", "rate"] : [" sends at once", "bulkhead"];
  const take = targets?.includes(", ") ? "together take" : "takes";
  const detail = `${targets} ${take} at most ${most}${unit}: choose ${most} or less, or raise the ${bound} under Targets`;
  throw new DomainError("above-ceiling", `${name}: ${detail}`, { fields: [{ field: name, detail }] });
}
