import { holdsMasked } from "@/lib/events/detail/event-detail.read";
import { auditTrial } from "@/lib/guard/masking/audit-trial";
import { setFor } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { readSourceId } from "@/lib/guard/viewer/source-names.read";
import { assertMay, may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { createTurns } from "@/lib/platform/turns";
import { inferSchema as startInference } from "@/lib/repair/schemas/infer-schema.pure";
import { readBodies } from "@/lib/selection/bodies.read";
import { type Candidate, cutoffOf, readCandidates } from "@/lib/selection/candidates.read";
import { scopeSelection } from "@/lib/selection/scope.shapes";
import type { FormedBody } from "@/lib/sources/schemas/body-form.pure";
import { draftSchema, type SchemaDeps } from "@/lib/sources/schemas/check-schema";
import { assertPayloadSchema } from "@/lib/sources/schemas/payload-schema";
import { readTypedSizes, readTypesWithSchema } from "@/lib/sources/schemas/payload-schemas.read";
import {
  FAULTS_MAX,
  type InferRequest,
  type InferredSchema,
  type SchemaTrial,
  type SchemaTryRequest,
  TRY_EVENTS_MAX,
} from "@/lib/sources/schemas/payload-schemas.shapes";
import type { EventStatus } from "@/lib/states/event-state.pure";

type Deps = Omit<SchemaDeps, "db"> & { db: Db; clock: Clock };

/** Events of one read, and the bytes of their payloads that are in memory at once. */
const CHUNK_MAX = 200;
const CHUNK_BYTES_MAX = 8 * 1024 * 1024;
/** A larger payload is left out: it says little about the form of the others. */
const PAYLOAD_BYTES_MAX = 512 * 1024;
/** Rows that are looked at for the events of one type, at most. */
const LOOKED_AT_MAX = 20_000;
const SAMPLES_MAX = 5;
const SAMPLE_FAULTS_MAX = 3;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Infers a schema from the newest events of a source and type that were delivered and have not come back. Stores
 * nothing. Throws DomainError `unknown-source`.
 */
export async function inferSchema(
  deps: Deps,
  { source, request: { eventType = null, events } }: { source: string; request: InferRequest },
  viewer: Viewer,
): Promise<InferredSchema> {
  assertMay(viewer, "change-source", [source]);
  const inference = startInference();
  const found: InferredSchema = { schema: null, eventsRead: 0, confirmed: 0, skipped: 0, optional: [] };
  const turns = createTurns(deps.clock);
  for await (const chunk of payloadsOf(deps, { source, eventType, status: "REDRIVEN", limit: events }, viewer)) {
    found.skipped += chunk.tooLarge;
    for (const { payload, confirmed } of chunk.events) {
      if (turns.due()) await turns.give();
      const value = jsonOf(payload);
      if (value === undefined) {
        found.skipped++;
        continue;
      }
      inference.add(value);
      found.eventsRead++;
      if (confirmed) found.confirmed++;
    }
  }
  return { ...found, ...inference.result() };
}

/**
 * How the newest parked and redriven events of a source and type fare under a schema. Those with something masked are undecided for
 * users without `reveal`; trials of others are audited. Throws DomainError `unknown-source`, and `invalid-config` for a schema that cannot be used.
 */
export async function trySchema(
  deps: Deps,
  { source, request: { eventType = null, schema } }: { source: string; request: SchemaTryRequest },
  viewer: Viewer,
): Promise<SchemaTrial> {
  assertMay(viewer, "change-source", [source]);
  await assertPayloadSchema(deps.schemas, schema, "schema");
  const draft = draftSchema(eventType, schema);
  const set = setFor((await readMasks(deps.db)).of(source), false);
  const turns = createTurns(deps.clock);
  let anyMasked = false;
  const isOpen = async (event: Read) => {
    if (turns.due()) await turns.give();
    const masked = await holdsMasked(event, set);
    anyMasked ||= masked;
    return !masked || may(viewer, "reveal");
  };
  const of = async (status: EventStatus) => {
    const part: SchemaTrial["parked"] = { checked: 0, passed: 0, failed: 0, undecided: 0, samples: [] };
    const wanted = { source, eventType, status, limit: TRY_EVENTS_MAX };
    for await (const { events, tooLarge } of payloadsOf(deps, wanted, viewer)) {
      const open: Read[] = [];
      for (const event of events) if (await isOpen(event)) open.push(event);
      part.checked += events.length + tooLarge;
      part.undecided += tooLarge + events.length - open.length;
      const checks = await deps.checkPayloads.against(open.map((event) => ({ ...event, schema: draft })));
      for (const [index, check] of checks.entries()) {
        if (check.schema.ok) part.passed++;
        else if (check.schema.tooSlow || check.parses.ok !== true) part.undecided++;
        else {
          part.failed++;
          if (part.samples.length < SAMPLES_MAX) part.samples.push(await sampleOf(deps, open[index]!, draft));
        }
      }
    }
    return part;
  };
  const trial = { parked: await of("PENDING"), delivered: await of("REDRIVEN") };
  if (anyMasked && may(viewer, "reveal"))
    await auditTrial(deps, viewer, { kind: "schema", text: JSON.stringify(schema), sources: [source] });
  return trial;
}

type Read = FormedBody & { id: string; eventId: string; confirmed: boolean };

/** A failed event is checked once more, for all of its faults. */
async function sampleOf(
  { checkPayloads }: Deps,
  event: Read,
  schema: ReturnType<typeof draftSchema>,
): Promise<SchemaTrial["parked"]["samples"][number]> {
  const [check] = await checkPayloads.against([{ ...event, schema }], { faultsMax: FAULTS_MAX });
  return { id: event.id, eventId: event.eventId, faults: check!.schema.faults.slice(0, SAMPLE_FAULTS_MAX) };
}

type Wanted = { source: string; eventType: string | null; status: EventStatus; limit: number };

/** The newest events in chunks, each with its current revision. Event type null: the types without their own schema. */
async function* payloadsOf(
  { db, clock }: Deps,
  { source, eventType, status, limit }: Wanted,
  viewer: Viewer,
): AsyncGenerator<{ events: Read[]; tooLarge: number }> {
  const sourceId = await readSourceId(db, viewer, source);
  const own = eventType === null ? await readTypesWithSchema(db, sourceId) : new Set<string>();
  const filter = { source: [source], status: [status], ...(eventType === null ? {} : { eventType: [eventType] }) };
  const nowMs = clock.wallMs();
  const selection = scopeSelection(viewer, "view", { filter });
  const page = { selection, asOfMs: nowMs, cutoff: cutoffOf(selection, nowMs), limit: CHUNK_MAX };
  let after: string | null = null;
  let left = limit;
  for (let looked = 0; left > 0 && looked < LOOKED_AT_MAX; looked += CHUNK_MAX) {
    const candidates: Candidate[] = await readCandidates(db, { ...page, after });
    const sizes = await readTypedSizes(
      db,
      candidates.map(({ id }) => id),
    );
    const wanted = candidates.filter(({ id }) => !own.has(sizes.get(id)?.eventType ?? "")).slice(0, left);
    left -= wanted.length;
    for (let from = 0; from < wanted.length; ) {
      let bytes = 0;
      const to = wanted.findIndex(({ id }, index) => {
        if (index < from) return false;
        bytes += sizes.get(id)?.bytes ?? 0;
        return index > from && bytes > CHUNK_BYTES_MAX;
      });
      const part = wanted.slice(from, to < 0 ? undefined : to);
      from += part.length;
      const small = part.filter(({ id }) => (sizes.get(id)?.bytes ?? 0) <= PAYLOAD_BYTES_MAX);
      const bodies = await readBodies(db, small);
      const events = small.flatMap(({ id, eventId, confirmed }) => {
        const body = bodies.get(id);
        return body ? [{ ...body, id, eventId, confirmed }] : [];
      });
      yield { events, tooLarge: part.length - events.length };
    }
    if (candidates.length < CHUNK_MAX) return;
    after = candidates.at(-1)!.id;
  }
}

function jsonOf(payload: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(payload));
  } catch {
    return undefined;
  }
}
