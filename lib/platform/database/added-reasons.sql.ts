/**
 * SQL: the sum of a jsonb `{reason: n}` column and a parameter of the same form; a reason with the sum 0 is removed.
 */
export function addedReasons(column: string, parameter: string): string {
  return `(select coalesce(jsonb_object_agg(key, n), '{}') from (
             select key, sum(value::bigint) as n
               from (select * from jsonb_each_text(${column}) union all select * from jsonb_each_text(${parameter}::jsonb)) both_sides
              group by key having sum(value::bigint) <> 0) merged)`;
}
