import { readGroupsMeant } from "@/lib/events/groups/aliases/aliases.read";
import { MUTE_MS_MAX } from "@/lib/events/groups/mutes/group-mute.pure";
import { arrivedEver, unknownMute } from "@/lib/events/groups/mutes/group-mutes.read";
import type { GroupMuteRequest } from "@/lib/events/groups/mutes/group-mutes.shapes";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { unknownSourceFaults } from "@/lib/guard/viewer/source-names.read";
import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

type ChangeDeps = Pick<Deps, "db" | "clock">;

/**
 * Mutes groups: nobody is notified about them until a time, or until so many more have arrived. A mute that they have is replaced.
 * Returns the ids of the mutes. Throws DomainError `forbidden`, `invalid-window`, `unknown-group`, `unknown-source`.
 */
export async function muteGroups(
  { db, clock }: ChangeDeps,
  request: GroupMuteRequest,
  viewer: Viewer,
): Promise<string[]> {
  const { source, until, more, reason } = request;
  assertMay(viewer, "ignore", source === null ? "all" : [source]);
  const atMs = clock.wallMs();
  const untilMs = until === undefined ? null : Date.parse(until);
  const fault = termsFault(untilMs, more, await databaseNow(db));
  if (fault !== null) {
    throw new DomainError("invalid-window", `until: ${fault}`, { fields: [{ field: "until", detail: fault }] });
  }
  const unknown = source === null ? [] : await unknownSourceFaults(db, viewer, { names: [source], field: "source" });
  if (unknown.length > 0) throw new DomainError("unknown-source", unknown[0]!.detail, { fields: unknown });
  const fingerprints = [...new Set(await readGroupsMeant(db, request.fingerprints))];
  await assertGroupsSeen(db, viewer, fingerprints);
  return db.transaction(async (tx) => {
    const ids: string[] = [];
    for (const fingerprint of fingerprints) {
      const id = await beginMute(tx, fingerprint, { source, untilMs, more: more ?? null, reason, viewer, atMs });
      await appendAudit(tx, {
        ...{ actor: viewer.name, action: "group.muted", subjectId: fingerprint, reason },
        ...{ after: { source, until: until ?? null, more: more ?? null }, atMs },
      });
      ids.push(id);
    }
    return ids;
  });
}

async function databaseNow(db: Queryable): Promise<number> {
  const [row] = await db.query<{ nowMs: number }>('select now() as "nowMs"', [], { name: "database-now" });
  return row!.nowMs;
}

function termsFault(untilMs: number | null, more: number | undefined, nowMs: number): string | null {
  if (untilMs === null) return more === undefined ? "give a time, or with `more` a number of arrivals" : null;
  if (untilMs <= nowMs) return "is in the past: choose a time in the future";
  if (untilMs - nowMs <= MUTE_MS_MAX) return null;
  return `is more than ${formatDuration(MUTE_MS_MAX)} away: mute the group again then`;
}

/** Throws DomainError `unknown-group` for the first that is none, or of which the viewer sees no source. */
async function assertGroupsSeen(db: Queryable, viewer: Viewer, fingerprints: readonly string[]): Promise<void> {
  const rows = await db.query<{ fingerprint: string }>(
    `select g.fingerprint from dlq_groups g where g.fingerprint = any($1::text[])
        and ($2::text[] is null or exists (select from dlq_group_levels l join sources s on s.id = l.source_id
              where l.fingerprint = g.fingerprint and s.name = any($2)))`,
    [fingerprints, viewer.sources === "all" ? null : viewer.sources],
  );
  const seen = new Set(rows.map(({ fingerprint }) => fingerprint));
  const missing = fingerprints.findIndex((fingerprint) => !seen.has(fingerprint));
  if (missing < 0) return;
  throw new DomainError("unknown-group", `There is no group ${fingerprints[missing]}`, {
    fields: [{ field: `fingerprints[${missing}]`, detail: "list groups with GET /api/v1/groups" }],
  });
}

type Terms = {
  source: string | null;
  untilMs: number | null;
  more: number | null;
  reason: string;
  viewer: Viewer;
  atMs: number;
};

/** Ends the group's open mute and begins this one. When another person mutes it at the same time, the later one stays. */
async function beginMute(tx: Tx, fingerprint: string, terms: Terms): Promise<string> {
  const { source, untilMs, more, reason, viewer, atMs } = terms;
  for (;;) {
    await tx.run(
      `update group_mutes set ended_at = now(), ended_by = $3, ended_because = 'replaced'
        where fingerprint = $1 and coalesce(source, '') = coalesce($2::text, '') and ended_at is null`,
      [fingerprint, source, viewer.name],
    );
    const [begun] = await tx.query<{ id: string }>(
      `insert into group_mutes (id, fingerprint, source, until_at, until_more, arrived_start, reason, created_by, created_at)
       values ($1, $2::text, $3::text, to_timestamp($4::float8 / 1000), $5, ${arrivedEver("$2::text", "$3::text")}, $6, $7,
               to_timestamp($8::float8 / 1000)) on conflict do nothing returning id`,
      [uuidv7(atMs), fingerprint, source, untilMs, more, reason, viewer.name, atMs],
    );
    if (begun) return begun.id;
  }
}

/** Ends a mute before its time: its alerts are sent again. Throws DomainError `unknown-mute` for one that is over, `forbidden`. */
export async function liftGroupMute({ db, clock }: ChangeDeps, id: string, viewer: Viewer): Promise<void> {
  const atMs = clock.wallMs();
  await db.transaction(async (tx) => {
    const [lifted] = await tx.query<{ fingerprint: string; source: string | null; until: number | null }>(
      `update group_mutes set ended_at = now(), ended_by = $2, ended_because = 'lifted'
        where id = $1 and ended_at is null and (until_at is null or until_at > now())
        returning fingerprint, source, until_at as until`,
      [id, viewer.name],
    );
    if (!lifted || (lifted.source !== null && !sees(viewer, lifted.source))) throw unknownMute(id);
    const { fingerprint, source } = lifted;
    assertMay(viewer, "ignore", source === null ? "all" : [source]);
    await appendAudit(tx, {
      ...{ actor: viewer.name, action: "group.unmuted", subjectId: fingerprint },
      ...{ before: { source }, atMs },
    });
  });
}
