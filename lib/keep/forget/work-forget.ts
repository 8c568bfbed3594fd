import { appendAudit, appendSubjects } from "@/lib/guard/audit/audit.write";
import { countReplaced } from "@/lib/keep/archive/leftovers.write";
import { removeLeftovers } from "@/lib/keep/archive/remove-leftovers";
import { nextObject } from "@/lib/keep/forget/archived-lines.write";
import { kindOf, patternsOf, personOf } from "@/lib/keep/forget/forget-key.pure";
import {
  advanceForget,
  endForget,
  type ForgetPhase,
  type ForgetRow,
  lockForget,
  noteForgetFault,
  redactAudit,
  runningForgets,
  setPatterns,
} from "@/lib/keep/forget/forgets.write";
import {
  deleteStored,
  type Forgotten,
  forgetEmptyAggregates,
  forgetEvents,
} from "@/lib/keep/forget/forgotten-events.write";
import {
  type ForgetScope,
  type MatchingEvent,
  type MatchingPage,
  readMatching,
} from "@/lib/keep/forget/matching-events.read";
import { rewriteObject } from "@/lib/keep/forget/rewrite-object";
import { endNamedControls, forgetMessages, forgetNamedKeys, replaceTraces } from "@/lib/keep/forget/traces.write";
import { readHoldingLater, readParkedBehind } from "@/lib/keep/removal/held-tails.read";
import type { Deps } from "@/lib/lane/deps";
import { type ArchiveDeps, archiveOf } from "@/lib/platform/archive/archive-store";
import type { Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { lockEvents } from "@/lib/states/fence.write";

type ForgetDeps = Pick<Deps, "db" | "clock" | "log"> & ArchiveDeps;

/** Events of one transaction. */
const CHUNK = 200;
/** Entries of the audit that one statement looks at. */
const AUDIT_BATCH = 5_000;
/** Longer than an object takes to be read, written and read back. */
const ARCHIVING_MS_MAX = 90_000;

/** The places that every forget goes through, as the audit names them. */
const SEARCHED: readonly ForgetPhase[] = ["events", "archive", "traces", "audit"];

/** Why a matching event stays. */
type ForgetKept = "in-redrive" | "unconfirmed" | "holds-later";

/** One round: each running forget goes to its end, and leftovers of the archive are removed. A forget that cannot go on keeps no other. */
export async function workForgets(deps: ForgetDeps, signal: AbortSignal): Promise<void> {
  for (const id of await runningForgets(deps.db)) {
    try {
      await workForget(deps, id, signal);
    } catch (error) {
      deps.log.warn({ forget: id, err: error }, "a step of a forget could not be done, it is tried again");
    }
  }
  await removeLeftovers(deps);
}

/** Works a forget in steps of one transaction each, which any worker can continue. Resolves at its end, or when `signal` aborts. */
export async function workForget(deps: ForgetDeps, id: string, signal: AbortSignal): Promise<void> {
  try {
    while (!signal.aborted && (await inTransaction(deps.db, (tx) => step(deps, tx, id)))) {
      // Each step says whether there is another one.
    }
  } catch (error) {
    const said = error instanceof DomainError ? error.message : "Its next step failed: the log of the worker says why";
    if (!(error instanceof DomainError && error.code === "events-busy")) await noteForgetFault(deps.db, id, said);
    throw error;
  }
}

async function step(deps: ForgetDeps, tx: Tx, id: string): Promise<boolean> {
  const forget = await lockForget(tx, id);
  if (forget === null) return false;
  switch (forget.phase) {
    case "events":
      await forgetStored(deps, tx, forget);
      return true;
    case "archive":
      await forgetArchived(deps, tx, forget);
      return true;
    case "traces":
      await forgetTraces(tx, forget);
      return true;
    case "audit":
      return forgetInAudit(deps, tx, forget);
  }
}

async function forgetStored({ clock }: ForgetDeps, tx: Tx, forget: ForgetRow): Promise<void> {
  const { id, scope, cursor } = forget;
  const page = await readMatching(tx, scope, { before: cursor, limit: CHUNK });
  const locked = await lockEvents(
    tx,
    page.events.map((event) => event.id),
  );
  const kept = await readKept(tx, scope, [...locked.values()]);
  const going = [...locked.keys()].filter((event) => !kept.has(event));
  const { forgotten, revisions, bounces } = await deleteStored(tx, going, clock.wallMs());
  await forgetEvents(tx, id, forgotten);
  await appendSubjects(tx, forget.auditId, going);
  const refused: Record<string, number> = {};
  for (const reason of kept.values()) refused[reason] = (refused[reason] ?? 0) + 1;
  await advanceForget(tx, id, {
    phase: page.cursor === null ? "archive" : "events",
    cursor: page.cursor,
    // What a removal had locked until now lies in the archive, which is looked at next.
    moved: false,
    counts: { events: forgotten.length, revisions, bounces },
    refused,
    restarts: cursor === null,
    names: namesOf(forgotten),
  });
}

/** Why each of these matching events stays; removable ones are left out. */
export async function readKept(
  tx: Tx,
  scope: ForgetScope,
  events: readonly MatchingEvent[],
): Promise<Map<string, ForgetKept>> {
  const kept = new Map<string, ForgetKept>();
  for (const { id, status, confirmed } of events) {
    if (status === "QUEUED") kept.set(id, "in-redrive");
    else if (status === "REDRIVEN" && !confirmed) kept.set(id, "unconfirmed");
  }
  const going = events.map(({ id }) => id).filter((id) => !kept.has(id));
  const leaving = [...going];
  const among = await readParkedBehind(tx, going);
  let before: string | null = null;
  do {
    const page: MatchingPage = await readMatching(tx, scope, { before, limit: among.length, among });
    leaving.push(...page.events.flatMap(({ id, status }) => (status === "QUEUED" ? [] : id)));
    before = page.cursor;
  } while (before !== null);
  for (const id of await readHoldingLater(tx, going, leaving)) kept.set(id, "holds-later");
  return kept;
}

function namesOf(forgotten: readonly Forgotten[]): string[] {
  return forgotten.flatMap(({ eventId, aggregateId }) => (aggregateId === null ? [eventId] : [eventId, aggregateId]));
}

async function forgetArchived(deps: ForgetDeps, tx: Tx, forget: ForgetRow): Promise<void> {
  const { id, scope, cursor } = forget;
  await tx.run(`set local idle_in_transaction_session_timeout = ${ARCHIVING_MS_MAX}`);
  const object = await nextObject(tx, scope, cursor);
  if (object === null) {
    const phase = forget.moved ? "events" : "traces";
    await advanceForget(tx, id, { phase, cursor: null, moved: false });
    return;
  }
  const done = await rewriteObject(tx, deps, archiveOf(deps), { forgetId: id, scope, object });
  await appendSubjects(
    tx,
    forget.auditId,
    done.forgotten.map((event) => event.id),
  );
  await advanceForget(tx, id, {
    phase: "archive",
    cursor: object.id,
    moved: forget.moved || done.moved,
    counts: done.counts,
    refused: done.refused,
    names: namesOf(done.forgotten),
  });
}

/** Texts beside events that name the person: the key itself, and the ids of the events that are forgotten. */
async function forgetTraces(tx: Tx, forget: ForgetRow): Promise<void> {
  const { id, scope } = forget;
  const aggregates = kindOf(scope.key) === "aggregateId" ? [...forget.names, personOf(scope.key)] : forget.names;
  const empty = new Set(await forgetEmptyAggregates(tx, aggregates, scope.source));
  // The name of an aggregate that has other events stands there as well, and is not the person's alone.
  const names = await forgetNamedKeys(tx, forget.names, empty);
  const values = [...new Set([personOf(scope.key), ...names])];
  const patterns = patternsOf(values, personOf(scope.key));
  const messages = await forgetMessages(tx, values);
  const ended = await endNamedControls(tx, patterns, forget.createdBy);
  const replaced = await replaceTraces(tx, patterns);
  await setPatterns(tx, id, patterns);
  const counts = { otherTexts: replaced + messages, controlsLifted: ended };
  await advanceForget(tx, id, { phase: "audit", cursor: null, moved: false, counts });
}

async function forgetInAudit(deps: ForgetDeps, tx: Tx, forget: ForgetRow): Promise<boolean> {
  const { id } = forget;
  await removeLeftovers(deps);
  const replaced = await countReplaced(tx);
  if (replaced.failed > 0)
    throw new DomainError(
      "archive-unavailable",
      `${replaced.failed} replaced objects are still in the archive: allow Parkade to delete there`,
    );
  if (replaced.all > 0) throw new DomainError("events-busy", "Replaced objects are being removed from the archive");
  const { lastId, redacted } = await redactAudit(tx, forget, { after: forget.cursor, batch: AUDIT_BATCH });
  await advanceForget(tx, id, { phase: "audit", cursor: lastId, moved: false, counts: { auditEntries: redacted } });
  if (lastId !== null) return true;
  const { counts, refused } = await endForget(tx, id);
  await appendAudit(tx, {
    actor: forget.createdBy,
    action: "data.forget-ended",
    subjectKind: "forget",
    subjectId: id,
    after: { keyKind: kindOf(forget.scope.key), searched: SEARCHED, counts, refused },
    count: (counts.events ?? 0) + (counts.archivedEvents ?? 0),
    atMs: deps.clock.wallMs(),
  });
  return false;
}
