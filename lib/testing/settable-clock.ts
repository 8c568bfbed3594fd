import pg from "pg";

/** Functions of PostgreSQL that read its clock, as the product's statements call them. */
const READINGS = ["now", "clock_timestamp"];

/** A function of one expression, which the planner puts in place of its call: statements keep their plans. */
const reading = (name: string, aheadMs: number) =>
  `create or replace function clock.${name}() returns timestamptz language sql stable parallel safe
   return pg_catalog.${name}() + ${aheadMs} * interval '1 ms'`;

export type SettableClock = {
  /** Connection string of sessions that read this clock. */
  url: string;
  /** Sets the store's clock this far ahead of the machine's. */
  set(aheadMs: number): Promise<void>;
  end(): Promise<void>;
};

/** Takes the clock of a migrated test database over: its statements and the defaults of its columns read one that the test sets. */
export async function settableClock(url: string): Promise<SettableClock> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const set = async (aheadMs: number) => {
    await client.query(READINGS.map((name) => reading(name, aheadMs)).join(";"));
  };
  await client.query("create schema clock");
  await set(0);
  // New tables are made in the first schema.
  const searchPath = "public,clock,pg_catalog";
  await client.query(`set search_path = ${searchPath}`);
  const { rows } = await client.query<{ statement: string }>(
    `select format('alter table public.%I alter column %I set default %s', c.relname, a.attname,
                   replace(pg_get_expr(d.adbin, d.adrelid), 'pg_catalog.', '')) as statement
       from pg_attrdef d join pg_class c on c.oid = d.adrelid join pg_namespace n on n.oid = c.relnamespace
       join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
      where n.nspname = 'public' and a.attgenerated = '' and pg_get_expr(d.adbin, d.adrelid) ~ '(${READINGS.join("|")})\\('`,
  );
  await client.query(rows.map(({ statement }) => statement).join(";"));
  const own = new URL(url);
  own.searchParams.set("options", `-c search_path=${searchPath}`);
  return { url: own.href, set, end: () => client.end() };
}
