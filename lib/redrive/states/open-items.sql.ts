/**
 * SQL: the open items of a redrive: those that may go, then those that wait, each in the order of its index.
 *
 * @param redriveId SQL of its id
 * @param limit rows of either at the most
 */
export function openItemsOf(redriveId: string, limit: number | string = "all"): string {
  const some = (waits: string) =>
    `(select * from open_items where redrive_id = ${redriveId} and not_before is ${waits} order by slice limit ${limit})`;
  return `(select * from (${some("null")} union all ${some("not null")}) i limit ${limit})`;
}
