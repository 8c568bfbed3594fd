import pg from "pg";
import { connectPostgres } from "./servers.ts";
import { StartError } from "./start-error.ts";

/**
 * Tables that the owner keeps, and what the app may do with them: it may read the audit and add to it, but never change it. A
 * function of AUDIT_SCHEMA also writes to `audit_pending`: if the app owned that table, its trigger would run with the
 * rights of the function.
 */
const OWNED: Record<string, string> = {
  audit_entries: "select, insert",
  audit_subjects: "select, insert",
  audit_seals: "select, insert",
  audit_anchors: "select, insert",
  audit_pending: "select, insert, delete",
  _prisma_migrations: "select",
};
/** The schema of functions that change the audit in limited ways, with the rights of their owner, and of everything that they call. */
const AUDIT_SCHEMA = "audit_owner";
/** Tables of the product, and those that BullMQ makes for a queue on PostgreSQL. */
const SCHEMAS = ["public", "bullmq"];

export type AppRole = { name: string; password: string | null };

/** Role and password of a connection string. Throws StartError when it names no role. */
export function roleOf(databaseUrl: string): AppRole {
  const url = new URL(databaseUrl);
  if (url.username === "") {
    throw new StartError("DATABASE_URL names no role: give it as postgresql://user:password@host:port/database.");
  }
  const password = url.password === "" ? null : decodeURIComponent(url.password);
  return { name: decodeURIComponent(url.username), password };
}

/**
 * Makes the role that web and worker run as, or brings an existing one in step. It owns the schema, because a worker
 * makes a partition for each day and BullMQ keeps its own tables; it is no superuser, and may only add to the audit.
 * `ownerUrl`: a superuser, or a role with CREATEROLE that owns the database. Runs after each migration; a role that is
 * in step already costs a few reads.
 */
export async function prepareAppRole(ownerUrl: string, role: AppRole): Promise<void> {
  const client = await connectPostgres(ownerUrl);
  try {
    await client.query("begin");
    await makeRole(client, role);
    await handOver(client, role.name);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    if (!(error instanceof pg.DatabaseError) || error.code !== "42501") throw error;
    throw new StartError(
      `The role of PARKADE_OWNER_DATABASE_URL may not set up ${role.name} (${error.message}): give it a superuser, or a role with CREATEROLE that owns the database and its tables.`,
    );
  } finally {
    await client.end();
  }
}

async function makeRole(client: pg.Client, { name, password }: AppRole): Promise<void> {
  const { rows } = await client.query<{ super: boolean; self: boolean }>(
    "select rolsuper as super, rolname = current_user as self from pg_roles where rolname = $1",
    [name],
  );
  if (rows[0]?.self) {
    throw new StartError(
      "DATABASE_URL and PARKADE_OWNER_DATABASE_URL name the same role: give web and worker a role of their own in DATABASE_URL.",
    );
  }
  if (rows[0]?.super) {
    throw new StartError(`The role ${name} of DATABASE_URL is a superuser: give web and worker a role that is none.`);
  }
  const quoted = client.escapeIdentifier(name);
  if (rows.length === 0) await client.query(`create role ${quoted} login`);
  if (password !== null) await client.query(`alter role ${quoted} password ${client.escapeLiteral(password)}`);
  // Only a member may hand its tables over. A superuser needs no membership, and gains nothing by it.
  const member = await client.query("select from pg_roles where rolname = current_user and rolsuper");
  if (member.rowCount === 0) await client.query(`grant ${quoted} to current_user`);
}

async function handOver(client: pg.Client, name: string): Promise<void> {
  const role = client.escapeIdentifier(name);
  const { rows: databases } = await client.query<{ name: string }>("select current_database() as name");
  const database = client.escapeIdentifier(databases[0]!.name);
  await client.query(`grant connect, create, temporary on database ${database} to ${role}`);
  await client.query(`grant usage, create on schema public to ${role}`);
  for (const { kind, name: object } of await foreignObjects(client, name)) {
    await client.query(`alter ${kind} ${object} owner to ${role}`);
  }
  for (const { kind, name: object } of await lostObjects(client, name)) {
    await client.query(`alter ${kind} ${object} owner to current_user`);
  }
  for (const [table, rights] of Object.entries(OWNED)) {
    const { rowCount } = await client.query("select where to_regclass($1) is not null", [`public.${table}`]);
    if (rowCount === 0) continue;
    await client.query(`revoke all on public.${table} from ${role}`);
    await client.query(`grant ${rights} on public.${table} to ${role}`);
  }
  await client.query(`revoke all on schema ${AUDIT_SCHEMA} from ${role}`);
  await client.query(`grant usage on schema ${AUDIT_SCHEMA} to ${role}`);
  await client.query(`grant execute on all functions in schema ${AUDIT_SCHEMA} to ${role}`);
  await assertNoTriggers(client, name);
}

/** Objects of the role that belong to the owner: an earlier release handed them over, or the store had one role. */
async function lostObjects(client: pg.Client, role: string): Promise<{ kind: string; name: string }[]> {
  const { rows } = await client.query<{ kind: string; name: string }>(
    `select 'schema' as kind, quote_ident(n.nspname) as name
       from pg_namespace n where n.nspname = $2 and pg_get_userbyid(n.nspowner) = $1
      union all
     select 'table', c.oid::regclass::text
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'public' and c.relname = any($3) and pg_get_userbyid(c.relowner) = $1
      union all
     select 'function', p.oid::regprocedure::text
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = $2 and pg_get_userbyid(p.proowner) = $1`,
    [role, AUDIT_SCHEMA, Object.keys(OWNED)],
  );
  return rows;
}

/** A trigger that the role made while it owned the table still runs with the rights of whoever writes. */
async function assertNoTriggers(client: pg.Client, role: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select t.tgname || ' on ' || t.tgrelid::regclass as name
       from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
      where not t.tgisinternal and c.relnamespace = 'public'::regnamespace and c.relname = any($2) and pg_get_userbyid(p.proowner) = $1`,
    [role, Object.keys(OWNED)],
  );
  if (rows.length === 0) return;
  throw new StartError(
    `The role ${role} has made triggers that run with the rights of the owner (${rows.map(({ name }) => name).join(", ")}): find out why, and drop them.`,
  );
}

/** All objects of our schemas that the role must own and does not own yet, quoted. */
async function foreignObjects(client: pg.Client, role: string): Promise<{ kind: string; name: string }[]> {
  const { rows } = await client.query<{ kind: string; name: string }>(
    `select 'schema' as kind, quote_ident(n.nspname) as name
       from pg_namespace n
      where n.nspname = any($2) and n.nspname <> 'public' and pg_get_userbyid(n.nspowner) <> $1
      union all
     select case c.relkind when 'S' then 'sequence' when 'v' then 'view' else 'table' end, c.oid::regclass::text
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any($2) and c.relkind in ('r', 'p', 'v', 'S') and pg_get_userbyid(c.relowner) <> $1
        and not (n.nspname = 'public' and c.relname = any($3))
        and not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass
                           and d.deptype in ('a', 'i') and d.refclassid = 'pg_class'::regclass and c.relkind = 'S')
      union all
     select case when p.prokind = 'p' then 'procedure' else 'function' end, p.oid::regprocedure::text
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = any($2) and p.prokind in ('f', 'p') and pg_get_userbyid(p.proowner) <> $1
        and not exists (select from pg_depend d where d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e')
      union all
     select 'type', t.oid::regtype::text
       from pg_type t join pg_namespace n on n.oid = t.typnamespace
      where n.nspname = any($2) and t.typtype in ('e', 'd') and pg_get_userbyid(t.typowner) <> $1`,
    [role, SCHEMAS, Object.keys(OWNED)],
  );
  return rows;
}
