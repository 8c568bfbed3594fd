import { holdsMasked } from "@/lib/events/detail/event-detail.read";
import { type Masks, setFor } from "@/lib/guard/masking/mask-rule.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Queryable } from "@/lib/platform/database/db";
import { MASKED, type MendOutcome, SCHEMA_TIMEOUT } from "@/lib/repair/mends/mending.pure";
import type { Mended, Mender } from "@/lib/repair/recipes/apply-recipe";
import type { Message } from "@/lib/repair/recipes/document";
import { REVISABLE_STATUSES } from "@/lib/repair/revisions/revision.pure";
import { type EventBody, readBodies } from "@/lib/selection/bodies.read";
import type { PayloadCheck, PayloadChecker } from "@/lib/sources/schemas/check-payload";
import { readTypedSizes } from "@/lib/sources/schemas/payload-schemas.read";
import { EVENT_MOVES, type EventStatus } from "@/lib/states/event-state.pure";

/** What a process needs to apply recipes to events. */
export type MendingDeps = Pick<Deps, "db" | "clock"> & { checkPayloads: PayloadChecker };

/** A recipe in use. `masks`: the rules in force; `mayReveal`: its author may change events that have masked values. */
export type Mending = { mend: Mender; masks: Masks; mayReveal: boolean };

/** An event that a recipe is applied to. `revision`: of its bytes that are read. */
export type MendCandidate = { id: string; sourceId: string; source: string; status: EventStatus; revision: number };

/** What the recipe does to one event, in memory. Nothing is stored. */
export type Examined<Candidate extends MendCandidate = MendCandidate> = {
  candidate: Candidate;
  outcome: MendOutcome;
  /** Code and words; null = it changes, or is as it was. */
  reason: string | null;
  detail: string | null;
  /** null = its bytes were not read. */
  before: EventBody | null;
  after: Message | null;
  places: string[];
};

/** Bytes of payloads that a mend reads at a time: before and after are in memory twice. */
const BYTES_MAX = 16 * 1024 * 1024;
/** Of a preview, which looks at its clock after each part: a recipe may take a quarter of a second for a payload of 700 kB. */
export const PREVIEW_BYTES_MAX = 1024 * 1024;

/** Why an event of this status cannot be revised; null = it can. */
function statusRefusal(status: EventStatus): string | null {
  if (status === EVENT_MOVES.freeze.to) return "event-queued";
  return (REVISABLE_STATUSES as readonly EventStatus[]).includes(status) ? null : "already-redriven";
}

/**
 * Applies a recipe to events, in their order, and checks what it changes against their JSON Schemas. Yields parts of
 * them that fit into memory; the last part ends the events.
 */
export async function* examineMend<Candidate extends MendCandidate>(
  deps: MendingDeps,
  db: Queryable,
  mending: Mending,
  candidates: readonly Candidate[],
  bytesMax = BYTES_MAX,
): AsyncGenerator<Examined<Candidate>[]> {
  const sizes = await readTypedSizes(
    db,
    candidates.map(({ id }) => id),
  );
  let part: Candidate[] = [];
  let bytes = 0;
  for (const candidate of candidates) {
    const own = sizes.get(candidate.id)?.bytes ?? 0;
    if (part.length > 0 && bytes + own > bytesMax) {
      yield await examinePart(deps, db, mending, part);
      [part, bytes] = [[], 0];
    }
    part.push(candidate);
    bytes += own;
  }
  if (part.length > 0) yield await examinePart(deps, db, mending, part);
}

async function examinePart<Candidate extends MendCandidate>(
  deps: MendingDeps,
  db: Queryable,
  { mend, masks, mayReveal }: Mending,
  candidates: readonly Candidate[],
): Promise<Examined<Candidate>[]> {
  const free = candidates.filter(({ status }) => statusRefusal(status) === null);
  const bodies = await readBodies(db, free);
  const refusals = new Map<string, string>();
  const held: { candidate: Candidate; body: EventBody }[] = [];
  for (const candidate of free) {
    const body = bodies.get(candidate.id);
    if (!body) continue;
    const isMasked = !mayReveal && (await holdsMasked(body, setFor(masks.of(candidate.source), false)));
    if (isMasked) refusals.set(candidate.id, MASKED);
    else held.push({ candidate, body });
  }
  const results = await mend(held.map(({ body }) => body));
  const changed = held.flatMap(({ candidate, body }, index) => {
    const result = results[index]!;
    return result.kind === "changed"
      ? [{ ...body, id: candidate.id, sourceId: candidate.sourceId, ...result.message }]
      : [];
  });
  const checks = await deps.checkPayloads.inForce(db, changed);
  const broken = new Map(
    changed.flatMap(({ id }, index) => {
      const { schema } = checks[index]!;
      return schema.ok === false ? [[id, schema] as const] : [];
    }),
  );
  const resultOf = new Map(held.map(({ candidate }, index) => [candidate.id, results[index]!]));
  return candidates.map((candidate) => {
    const body = bodies.get(candidate.id) ?? null;
    const result = resultOf.get(candidate.id);
    const refusal = statusRefusal(candidate.status) ?? refusals.get(candidate.id) ?? (result ? null : "not-found");
    const verdict =
      refusal === null
        ? verdictOf(result!, broken.get(candidate.id))
        : { outcome: "refused" as const, reason: refusal, detail: null };
    const made = result?.kind === "changed" ? result : null;
    return { candidate, before: body, after: made?.message ?? null, places: made?.places ?? [], ...verdict };
  });
}

function verdictOf(
  result: Mended,
  broken: PayloadCheck["schema"] | undefined,
): Pick<Examined, "outcome" | "reason" | "detail"> {
  if (result.kind === "failed") return { outcome: "failed", reason: result.code, detail: result.detail };
  if (broken !== undefined) {
    const reason = broken.tooSlow ? SCHEMA_TIMEOUT : "schema-mismatch";
    return { outcome: "breaks-schema", reason, detail: broken.detail };
  }
  return { outcome: result.kind, reason: null, detail: null };
}
