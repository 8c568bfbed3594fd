import { createHash } from "node:crypto";
import pg from "pg";
import { connectPostgres } from "./servers.ts";
import { StartError } from "./start-error.ts";

/** What a program of reports may read: numbers, ids and states. No configuration, text of an error, payload, person or token. */
const VIEWS: Record<string, string> = {
  sources: "select s.id, s.name, s.kind, s.mode, s.created_at from public.sources s where MINE(s.id)",
  events: `select e.id, s.name as source, e.event_id, e.aggregate_type, e.aggregate_id, e.version, e.error_code,
      e.fingerprint, e.first_seen, e.status, e.attempts, e.bounces, e.redrives, e.failures, e.last_attempt_at, e.redrive_at,
      e.confirmed_at
    from public.dlq_events e join public.sources s on s.id = e.source_id where MINE(e.source_id)`,
  levels: `select s.name as source, l.error_code, l.status, sum(l.n)::bigint as events
    from public.dlq_level_sums l join public.sources s on s.id = l.source_id where MINE(l.source_id) group by 1, 2, 3`,
  flow_hours: FLOW("dlq_flow_hours"),
  flow_days: FLOW("dlq_flow_days"),
  redrives: `select r.id, r.state, r.mode, r.lane, r.sources, r.total, r.delivered, r.passed, r.confirmed, r.failed, r.refused,
      r.cancelled, r.bounced, r.created_at, r.started_at, r.finished_at
    from public.redrives r
    where case when r.sources is null then (select reading.sees_all()) else r.sources <@ (select reading.source_names()) end`,
  redrive_items: `select i.id as event, i.redrive_id, s.name as source, i.state, i.result, i.attempts, i.finished_at
    from public.redrive_items i join public.sources s on s.id = i.source_id where MINE(i.source_id)`,
};

/** For the second role alone. */
const PAYLOAD_VIEWS: Record<string, string> = {
  event_bodies: `select e.id, s.name as source, b.content_type, b.headers, b.payload,
      b.error_type, b.error_message, b.error_detail
    from public.dlq_events e join public.dlq_event_bodies b on b.id = e.id join public.sources s on s.id = e.source_id
    where MINE(e.source_id)`,
};

function FLOW(table: string): string {
  return `select f.at, s.name as source, f.error_code, f.parked, f.bounced, f.redriven, f.confirmed, f.unconfirmed, f.failed,
      f.ignored, f.released, f.corrected, f.expired, f.dropped, f.rejected, f.duplicate
    from public.${table} f join public.sources s on s.id = f.source_id where MINE(f.source_id)`;
}

/**
 * The rows of `reading.readers` that stand for the role that signed in: its own, and those of the groups that it is in. It is
 * `session_user`, which no statement of that role can change. The functions run with the rights of their owner, so that readers
 * need none on the tables.
 */
const FUNCTIONS = `
create or replace function reading.source_names() returns text[] language sql stable security definer
  set search_path = pg_catalog, pg_temp as $$
    select coalesce(array_agg(s.name), '{}') from public.sources s where exists (
      select from reading.readers r join pg_catalog.pg_roles g on g.rolname = r.role_name
       where pg_catalog.pg_has_role(session_user, g.oid, 'member') and ('*' = any (r.sources) or s.name = any (r.sources)))
  $$;
create or replace function reading.source_ids() returns uuid[] language sql stable security definer
  set search_path = pg_catalog, pg_temp as $$
    select coalesce(array_agg(s.id), '{}') from public.sources s where s.name = any (reading.source_names())
  $$;
create or replace function reading.sees_all() returns boolean language sql stable security definer
  set search_path = pg_catalog, pg_temp as $$
    select exists (select from reading.readers r join pg_catalog.pg_roles g on g.rolname = r.role_name
      where pg_catalog.pg_has_role(session_user, g.oid, 'member') and '*' = any (r.sources))
  $$;`;

/** The role that may read payloads as well. */
export const payloadRoleOf = (reader: string) => `${reader}_payloads`;

/**
 * Takes the views away before migrations, which could not change a column that a view shows. Which role sees what, stays. A view on
 * which somebody has built keeps its columns, and answers with an error until it is made again. Returns a sentence about each of these.
 */
export async function dropReading(ownerUrl: string, { lockMs = LOCK_MS } = {}): Promise<string[]> {
  const warnings: string[] = [];
  await asOwner(ownerUrl, lockMs, async (client) => {
    for (const name of [...Object.keys(PAYLOAD_VIEWS), ...Object.keys(VIEWS)]) {
      if (await tryStatement(client, `drop view if exists reading.${name}`, [DEPENDED_ON])) continue;
      await client.query(UNAVAILABLE);
      await client.query(`create or replace view reading.${name} with (security_barrier) as
        select ${await columnsOf(client, name)} where reading.unavailable()`);
      await client.query(`comment on view reading.${name} is null`);
      warnings.push(
        `Reading reading.${name} fails while PARKADE_READER_ROLE is not set, because ${await dependents(client, name)} depends on it and it could not be dropped.`,
      );
    }
  });
  return warnings;
}

/**
 * Makes the role for reports, its second role for payloads, and what they may read: views in the schema `reading`, whose rows are
 * those of the sources that `reading.readers` lists for the role. Runs at each start, and waits for no report where nothing has changed. Returns a sentence about each view that
 * has other columns now and could not be made, because somebody has built on it.
 */
export async function prepareReader(ownerUrl: string, reader: string): Promise<string[]> {
  const warnings: string[] = [];
  await asOwner(ownerUrl, LOCK_MS, async (client) => {
    const roles = [reader, payloadRoleOf(reader)];
    for (const role of roles) await makeGroup(client, role);
    await client.query(`create schema if not exists reading`);
    await client.query(
      `create table if not exists reading.readers
         (role_name name primary key, sources text[] not null check (cardinality(sources) > 0))`,
    );
    await client.query(FUNCTIONS);
    const [plain, payloads] = roles.map((role) => client.escapeIdentifier(role));
    await client.query("revoke all on all functions in schema reading from public");
    await client.query(`grant usage on schema reading to ${plain}, ${payloads}`);
    await client.query(`grant execute on all functions in schema reading to ${plain}, ${payloads}`);
    for (const [name, text] of Object.entries({ ...VIEWS, ...PAYLOAD_VIEWS })) {
      if (!(await replaceView(client, name, text))) {
        const others = await dependents(client, name);
        warnings.push(
          `The view reading.${name} has other columns in this release and could not be made, since ${others} depends on it: drop what depends on it, start again, and make that anew.`,
        );
        continue;
      }
      for (const role of await granteesOf(client, name))
        await client.query(`revoke all on reading.${name} from ${role}`);
      await client.query(`grant select on reading.${name} to ${name in VIEWS ? `${plain}, ` : ""}${payloads}`);
    }
  });
  return warnings;
}

/** A view whose comment says that it was made of this text stays: to replace it waits for whoever reads it. */
async function replaceView(client: pg.Client, name: string, text: string): Promise<boolean> {
  const view = `view reading.${name} with (security_barrier) as ${mine(text)}`;
  const made = `made of ${createHash("sha256").update(view).digest("hex")}`;
  const { rows } = await client.query<{ comment: string | null }>(
    "select obj_description(to_regclass('reading.' || $1), 'pg_class') as comment",
    [name],
  );
  if (rows[0]!.comment === made) return true;
  const replaced =
    (await tryStatement(client, `create or replace ${view}`, OTHER_COLUMNS)) ||
    (await tryStatement(client, `drop view reading.${name}; create ${view}`, [DEPENDED_ON]));
  if (replaced) await client.query(`comment on view reading.${name} is '${made}'`);
  return replaced;
}

/** Who may read a view that was kept, beside its owner: a role that PARKADE_READER_ROLE named before may be among them. */
async function granteesOf(client: pg.Client, view: string): Promise<string[]> {
  const { rows } = await client.query<{ role: string }>(
    `select distinct coalesce(quote_ident(r.rolname), 'public') as role
       from pg_class c, aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
      where c.oid = to_regclass('reading.' || $1) and a.grantee <> c.relowner`,
    [view],
  );
  return rows.map(({ role }) => role);
}

/** How long a start waits for a report that reads the views. */
const LOCK_MS = 10_000;
/** A lock was not given in time, or the report waits for another view that this start holds. */
const LOCKED = ["55P03", "40P01"];
const DEPENDED_ON = "2BP01";
/** A view can be replaced by one with more columns. The second: a table has a column of the view's row type. */
const OTHER_COLUMNS = ["42P16", "0A000"];

/** False = it failed with one of these SQLSTATEs, and has changed nothing. */
async function tryStatement(client: pg.Client, text: string, codes: readonly string[]): Promise<boolean> {
  await client.query("savepoint attempt");
  try {
    await client.query(text);
    return true;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !codes.includes(error.code ?? "")) throw error;
    await client.query("rollback to savepoint attempt");
    return false;
  }
}

const UNAVAILABLE = `
create or replace function reading.unavailable() returns boolean language plpgsql as $$
  begin raise exception 'Parkade is replacing this view. If no migration is running, the log of the last start says which object must be dropped first.'; end
$$;`;

/** The columns of the view as nulls of their types: others that use them go on to fit, and no table is behind them. */
async function columnsOf(client: pg.Client, view: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    `select string_agg(format('null::%s%s as %I', format_type(a.atttypid, a.atttypmod),
         case when a.attcollation <> t.typcollation then ' collate ' || a.attcollation::regcollation end, a.attname), ', '
         order by a.attnum) as columns
       from pg_attribute a join pg_type t on t.oid = a.atttypid
      where a.attrelid = to_regclass('reading.' || $1) and a.attnum > 0 and not a.attisdropped`,
    [view],
  );
  return rows[0]!.columns;
}

async function dependents(client: pg.Client, view: string): Promise<string> {
  const { rows } = await client.query<{ names: string }>(
    `select string_agg(distinct regexp_replace(pg_describe_object(d.classid, d.objid, d.objsubid), '^rule \\S+ on ', ''), ', ') as names
       from pg_class c join pg_depend d on d.refobjid in (c.oid, c.reltype) and d.deptype = 'n'
      where c.oid = to_regclass('reading.' || $1)
        and not exists (select from pg_rewrite r where r.oid = d.objid and r.ev_class = c.oid)`,
    [view],
  );
  return rows[0]!.names;
}

/** Looked up once for a statement, and not for each row. */
function mine(text: string): string {
  return text.replace(/MINE\(([\w.]+)\)/g, "$1 = any ((select reading.source_ids())::uuid[])");
}

/** A group, in which nobody signs in: people and programs get a role of their own that is in it. */
async function makeGroup(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query<{ strong: boolean }>(
    "select rolsuper or rolcanlogin as strong from pg_roles where rolname = $1",
    [name],
  );
  if (rows[0]?.strong) {
    throw new StartError(
      `The role ${name} of PARKADE_READER_ROLE signs in or is a superuser: name a role that does not exist yet, and put yours into it.`,
    );
  }
  if (rows.length === 0) await client.query(`create role ${client.escapeIdentifier(name)} nologin`);
}

/** All of it or nothing, with the lock that keeps two starts apart. */
async function asOwner(ownerUrl: string, lockMs: number, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = await connectPostgres(ownerUrl);
  try {
    await client.query("begin");
    await client.query("select pg_advisory_xact_lock(hashtext('parkade.reading'))");
    await client.query(`set local lock_timeout = ${lockMs}`);
    await work(client);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    if (!(error instanceof pg.DatabaseError)) throw error;
    if (LOCKED.includes(error.code ?? ""))
      throw new StartError(
        `A statement reads the views of the schema reading, which this start must replace: ${await readersOfViews(client)}. Wait for its end, or end it with pg_terminate_backend, and start again.`,
      );
    if (error.code !== "42501") throw error;
    throw new StartError(
      `The role that migrates may not set up PARKADE_READER_ROLE (${error.message}): give a superuser, or a role with CREATEROLE that owns the database, in PARKADE_OWNER_DATABASE_URL.`,
    );
  } finally {
    await client.end();
  }
}

async function readersOfViews(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ who: string }>(
    `select distinct format('process %s of %s, since %s', a.pid, a.usename, date_trunc('second', a.xact_start)) as who
       from pg_locks l join pg_stat_activity a on a.pid = l.pid join pg_class c on c.oid = l.relation
      where c.relnamespace = to_regnamespace('reading') and a.pid <> pg_backend_pid()`,
  );
  return rows.map(({ who }) => who).join("; ") || "it has ended meanwhile";
}
