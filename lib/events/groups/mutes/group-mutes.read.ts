import { type GroupMute, muteEnded } from "@/lib/events/groups/mutes/group-mute.pure";
import type { GroupMuteList, GroupMuteOut } from "@/lib/events/groups/mutes/group-mutes.shapes";
import { withShownReasons } from "@/lib/guard/masking/typed-texts.read";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { groupsMeant } from "@/lib/selection/aliases.sql";

/** SQL: all arrivals ever of the group `fingerprint` in the source named `source`, or in all where that is null. */
export function arrivedEver(fingerprint: string, source: string): string {
  return `(select coalesce(sum(n), 0)::bigint from (
     select source_id, parked + bounced + unstored as n from dlq_group_flow_days where fingerprint = ${fingerprint}
     union all
     select source_id, n from dlq_flow where fingerprint = ${fingerprint} and kind in ('parked', 'bounced', 'unstored')) ever
    where ${source} is null or source_id = (select id from sources where name = ${source}))`;
}

/** A mute that nobody has ended, and the facts by which it may be over. */
export type OpenMute = GroupMute & { nowMs: number; arrived: number };

/** Those that nobody has ended, of all groups. */
export async function readOpenMutes(db: Queryable): Promise<OpenMute[]> {
  return db.query<OpenMute>(
    `select m.id, m.fingerprint, m.source, m.until_at as "untilMs", m.until_more as "untilMore", now() as "nowMs",
            case when m.until_more is null then 0 else ${arrivedEver("m.fingerprint", "m.source")} - m.arrived_start end as arrived
       from group_mutes m where m.ended_at is null order by m.id`,
    [],
    { name: "open-mutes" },
  );
}

/** One of every source is seen by whoever sees the group: it says why nobody is notified. */
const SEEN = `($1::text[] is null or m.source = any($1) or (m.source is null and exists (
  select from dlq_group_levels l join sources s on s.id = l.source_id where l.fingerprint = m.fingerprint and s.name = any($1))))`;

const COLUMNS = `m.id, m.fingerprint, m.source, m.until_at as until, m.until_more as "untilMore",
  case when m.until_more is not null and m.ended_at is null then ${arrivedEver("m.fingerprint", "m.source")} - m.arrived_start end as arrived,
  m.reason, m.created_by as "createdBy", m.created_at as "createdAt", m.ended_at as "endedAt", m.ended_by as "endedBy",
  m.ended_because as "endedBecause"`;

/** The same condition as `muteEnded`, as far as a time decides: the next evaluation ends those that a number has ended. */
const LASTS = "m.ended_at is null and (m.until_at is null or m.until_at > now())";

export async function listGroupMutes(
  db: Queryable,
  viewer: Viewer,
  query: IdPage & { state: "live" | "ended" | null; fingerprint: string | null },
): Promise<GroupMuteList> {
  const rows = await db.query<GroupMuteOut>(
    `select ${COLUMNS} from group_mutes m
      where ${SEEN} and ($2::uuid is null or m.id < $2) and ($3::boolean is null or (${LASTS}) = $3)
        and ($4::text is null or m.fingerprint = any(${groupsMeant("array[$4::text]")})) order by m.id desc limit $5`,
    [
      sourceScope(viewer),
      query.cursor,
      query.state === null ? null : query.state === "live",
      query.fingerprint,
      query.limit + 1,
    ],
    { isoTimes: true },
  );
  return cutPage(await withShownReasons(db, viewer, rows), query.limit, ({ id }) => id);
}

/** Those in force of these groups, as the viewer sees them; the newest of a group first. */
export async function readMutesOf(
  db: Queryable,
  viewer: Viewer,
  fingerprints: readonly string[],
): Promise<Map<string, GroupMuteOut[]>> {
  const rows = await db.query<GroupMuteOut & { dbNow: string }>(
    `select ${COLUMNS}, now() as "dbNow" from group_mutes m
      where ${SEEN} and m.fingerprint = any($2::text[]) and ${LASTS} order by m.id desc`,
    [sourceScope(viewer), fingerprints],
    { isoTimes: true, name: "mutes-of-groups" },
  );
  const lasting = rows.flatMap(({ dbNow, ...mute }) => {
    const terms = { untilMs: mute.until === null ? null : Date.parse(mute.until), untilMore: mute.untilMore };
    return muteEnded(terms, { nowMs: Date.parse(dbNow), arrived: mute.arrived ?? 0 }) === null ? [mute] : [];
  });
  return Map.groupBy(await withShownReasons(db, viewer, lasting), ({ fingerprint }) => fingerprint);
}

export async function readGroupMutes(db: Queryable, viewer: Viewer, ids: readonly string[]): Promise<GroupMuteOut[]> {
  const rows = await db.query<GroupMuteOut>(
    `select ${COLUMNS} from group_mutes m where ${SEEN} and m.id = any($2::uuid[]) order by m.id`,
    [sourceScope(viewer), ids],
    { isoTimes: true },
  );
  return withShownReasons(db, viewer, rows);
}

export function unknownMute(id: string): DomainError {
  return new DomainError("unknown-mute", `There is no mute ${id} in force`, {
    fields: [{ field: "id", detail: "list them with GET /api/v1/group-mutes" }],
  });
}
