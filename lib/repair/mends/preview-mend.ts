import { createHash } from "node:crypto";
import { holdsMasked } from "@/lib/events/detail/event-detail.read";
import { auditTrial } from "@/lib/guard/masking/audit-trial";
import { maskNullable } from "@/lib/guard/masking/mask.pure";
import { setFor } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { createTurns } from "@/lib/platform/turns";
import {
  type Examined,
  examineMend,
  type Mending,
  type MendingDeps,
  PREVIEW_BYTES_MAX,
} from "@/lib/repair/mends/examine-mend";
import { MEND_FAILURES, type MendFailure } from "@/lib/repair/mends/mending.pure";
import { compileRecipe } from "@/lib/repair/recipes/apply-recipe";
import { differencesOf } from "@/lib/repair/recipes/differences";
import {
  type MendCountRequest,
  type MendCounts,
  type MendItem,
  type MendPage,
  type MendPlace,
  type MendPreviewRequest,
  mendCountCursor,
  mendPageCursor,
} from "@/lib/repair/recipes/recipes.shapes";
import { type Candidate, cutoffOf, readCandidates, type Selected } from "@/lib/selection/candidates.read";
import { readScopedSelection } from "@/lib/selection/scope.read";
import { assertEnded } from "@/lib/selection/select-events";

/** One call of the page, and of the count: the next goes on where it stopped. */
const PAGE_MS_MAX = 150;
/** A page shows what it has read, unless the payloads are so large that this takes much longer. */
const READ_PAGE_MS_MAX = 1_500;
const COUNT_MS_MAX = 1_000;
/** Events read at a time while a page looks for one outcome, and while counting. */
const LOOK_CHUNK = 100;
const COUNT_CHUNK = 1_000;
/** Samples of each outcome in one answer of the count. */
const SAMPLES_MAX = 3;

type Request = Pick<MendCountRequest, "select" | "recipe">;

/**
 * What the recipe would do to the selected events, newest first, as many as it has time for: at least one. Throws as
 * `openPreview`, and the reason of `signal`.
 */
export async function previewMend(
  deps: MendingDeps,
  request: MendPreviewRequest,
  viewer: Viewer,
  signal?: AbortSignal,
): Promise<MendPage> {
  const { mending, page, place } = await openPreview(deps, request, request.cursor, viewer, mendPageCursor);
  const isOver = budgetOf(deps, PAGE_MS_MAX, signal);
  const takesTooLong = budgetOf(deps, READ_PAGE_MS_MAX, signal);
  const turns = createTurns(deps.clock);
  const items: MendItem[] = [];
  const wanted = request.outcome;
  const probed = new Set<string>();
  let [after, looked, ended] = [place?.after ?? null, 0, false];
  while (items.length < request.limit && !ended) {
    const limit = wanted === undefined ? request.limit : LOOK_CHUNK;
    const candidates = await readCandidates(deps.db, { ...page, after, limit });
    ended = candidates.length < limit;
    reading: for await (const part of examineMend(deps, deps.db, mending, candidates, PREVIEW_BYTES_MAX)) {
      for (const examined of part) {
        if (items.length === request.limit || (looked > 0 && takesTooLong())) break reading;
        [after, looked] = [examined.candidate.id, looked + 1];
        await noteProbed(probed, examined, request, mending);
        if (wanted === undefined || examined.outcome === wanted) items.push(itemOf(examined, mending));
        if (turns.due()) await turns.give();
      }
    }
    // What is left of the chunk is looked at by the next page.
    if (after !== candidates.at(-1)?.id && candidates.length > 0) ended = false;
    if (isOver()) break;
  }
  await auditMatches(deps, request, viewer, probed);
  return { items, nextCursor: ended ? null : written({ ...frozen(request, page), after }), looked };
}

/** Counts for about a second; the cursor carries the sums. Throws as `openPreview`, and the reason of `signal`. */
export async function countMend(
  deps: MendingDeps,
  request: MendCountRequest,
  viewer: Viewer,
  signal?: AbortSignal,
): Promise<MendCounts> {
  const { mending, page, place } = await openPreview(deps, request, request.cursor, viewer, mendCountCursor);
  const isOver = budgetOf(deps, COUNT_MS_MAX, signal);
  const turns = createTurns(deps.clock);
  const sums = place?.sums ?? { looked: 0, changed: 0, unchanged: 0, breaksSchema: 0, failed: {}, refused: {} };
  const samples: MendItem[] = [];
  const probed = new Set<string>();
  let after = place?.after ?? null;
  const begin = async (from: string | null) => {
    const candidates = await readCandidates(deps.db, { ...page, after: from, limit: COUNT_CHUNK });
    const parts = examineMend(deps, deps.db, mending, candidates, PREVIEW_BYTES_MAX);
    return { candidates, parts, first: ignoringUnread(parts.next()) };
  };
  let next = begin(after);
  let ended = false;
  while (!ended) {
    const { candidates, parts, first } = await next;
    const last = candidates.at(-1)?.id ?? after;
    const isLast = candidates.length < COUNT_CHUNK;
    // The first part of the next ones is read while these are evaluated.
    if (!isLast && !isOver()) next = ignoringUnread(begin(last));
    for (let part = await first; !part.done; part = await parts.next()) {
      for (const examined of part.value) {
        add(sums, examined);
        await noteProbed(probed, examined, request, mending);
        const ofOutcome = samples.filter(({ outcome }) => outcome === examined.outcome);
        if (ofOutcome.length < SAMPLES_MAX) samples.push(itemOf(examined, mending));
        if (turns.due()) await turns.give();
      }
      after = part.value.at(-1)?.candidate.id ?? after;
      if (isOver()) break;
    }
    ended = isLast && after === last;
    if (isOver()) break;
  }
  await auditMatches(deps, request, viewer, probed);
  const cursor = ended ? null : written({ ...frozen(request, page), after, sums });
  return { ...sums, kind: ended ? "exact" : "atLeast", asOf: iso(page.asOfMs), samples, nextCursor: cursor };
}

/** Whether the time of a call is over; throws the reason of `signal` when its client has gone. */
function budgetOf(
  { clock }: Pick<MendingDeps, "clock">,
  msMax: number,
  signal: AbortSignal | undefined,
): () => boolean {
  const untilMs = clock.nowMs() + msMax;
  return () => {
    signal?.throwIfAborted();
    return clock.nowMs() > untilMs;
  };
}

/** What is begun ahead and then not used must not end the process when it fails. */
function ignoringUnread<T>(read: Promise<T>): Promise<T> {
  read.catch(() => undefined);
  return read;
}

type CursorOf<P> = { parse(value: unknown): P };

type Sums = Pick<MendCounts, "looked" | "changed" | "unchanged" | "breaksSchema" | "failed" | "refused">;

function add(sums: Sums, { outcome, reason }: Examined): void {
  sums.looked++;
  if (outcome === "breaks-schema") sums.breaksSchema++;
  else if (outcome === "failed" || outcome === "refused") sums[outcome][reason!] = (sums[outcome][reason!] ?? 0) + 1;
  else sums[outcome]++;
}

/** Whether the recipe tests a part of a value: its outcome could reveal a masked value bit by bit. */
function matchesValues({ recipe }: Pick<Request, "recipe">): boolean {
  return recipe.kind === "form" && recipe.steps.some(({ when }) => when?.matches !== undefined);
}

/** Records the source of an event that has something masked and values that the recipe tests. */
async function noteProbed(
  probed: Set<string>,
  { candidate: { source }, before }: Examined<Candidate>,
  request: Request,
  { masks }: Mending,
): Promise<void> {
  if (before === null || probed.has(source) || !matchesValues(request)) return;
  if (await holdsMasked(before, setFor(masks.of(source), false))) probed.add(source);
}

async function auditMatches(deps: MendingDeps, { recipe }: Request, viewer: Viewer, probed: ReadonlySet<string>) {
  // For users without `reveal`, such events are refused unread.
  if (may(viewer, "reveal"))
    await auditTrial(deps, viewer, { kind: "mend", text: JSON.stringify(recipe), sources: [...probed] });
}

/** What a preview shows is masked for everybody. */
function itemOf(
  { candidate, outcome, reason, detail, before, after }: Examined<Candidate>,
  { masks }: Mending,
): MendItem {
  const { id, eventId, source, status, revision } = candidate;
  const set = masks.of(source);
  const shown = before && after ? differencesOf(before, after, set) : { differences: [], more: false };
  return {
    id,
    eventId,
    source,
    status,
    revision,
    outcome,
    reason,
    detail: maskNullable(detailOf({ outcome, reason, detail }), set),
    ...shown,
    bytesBefore: before?.payload.byteLength ?? 0,
    bytesAfter: (after ?? before)?.payload.byteLength ?? 0,
  };
}

function detailOf({ outcome, reason, detail }: Pick<Examined, "outcome" | "reason" | "detail">) {
  const words = outcome === "failed" ? MEND_FAILURES[reason as MendFailure] : null;
  return words === null || detail === null ? (words ?? detail) : `${words}: ${detail}`;
}

/**
 * Throws DomainError `invalid-recipe`, `invalid-cursor`, `unknown-operation`, `illegal-transition`, `forbidden`. A
 * selection is frozen by time at the first call: later arrivals are left out.
 */
async function openPreview<P extends MendPlace>(
  deps: MendingDeps,
  request: Request,
  cursor: string | undefined,
  viewer: Viewer,
  schema: CursorOf<P>,
): Promise<{ mending: Mending; page: Selected; place: P | null }> {
  const selection = await readScopedSelection(deps.db, viewer, "edit", request.select);
  const masks = await readMasks(deps.db);
  const place = cursor === undefined ? null : read(cursor, schema, asked(request));
  const asOfMs = place?.asOfMs ?? deps.clock.wallMs();
  if ("operation" in selection && place === null) await assertEnded(deps.db, selection.operation);
  const { payloadBytesMax } = await readSettings(deps.db);
  const mend = compileRecipe(deps, request.recipe, payloadBytesMax);
  const mending = { mend, masks, mayReveal: may(viewer, "reveal") };
  return { mending, place, page: { selection, asOfMs, cutoff: place?.cutoff ?? cutoffOf(selection, asOfMs) } };
}

/** The sums of one recipe must not go on with another. */
function asked({ select, recipe }: Request): string {
  return createHash("sha256")
    .update(JSON.stringify([select, recipe]))
    .digest("base64url")
    .slice(0, 16);
}

function frozen(request: Request, { asOfMs, cutoff }: Pick<Selected, "asOfMs" | "cutoff">) {
  return { asked: asked(request), asOfMs, cutoff };
}

function written(place: MendPlace & { sums?: Sums }): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

function read<P extends MendPlace>(cursor: string, schema: CursorOf<P>, wanted: string): P {
  let place: P | null = null;
  try {
    place = schema.parse(JSON.parse(Buffer.from(cursor, "base64url").toString()));
  } catch {
    // Said below.
  }
  if (place?.asked === wanted) return place;
  throw new DomainError("invalid-cursor", "The cursor is none of this selection and recipe: begin without one", {
    fields: [{ field: "cursor", detail: "use the nextCursor of an answer to the same request" }],
  });
}
