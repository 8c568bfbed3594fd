/** The aliases that decide about new events; intake keeps them in memory. Those of reason `rules`, and those of what a storm has moved, are for links and filters. */
export const DECIDING = "(reason in ('merge', 'split') or family is not null)";

/**
 * SQL: the groups that are meant by these names (SQL of a text[]): each as the group that stands for it. Wherever a person
 * or a stored filter names groups. `unmoved`: with the groups whose events have not all moved there yet.
 */
export function groupsMeant(names: string, { unmoved = false } = {}): string {
  const meant = `select coalesce(a.target, named.print) as print
    from unnest(${names}) named (print) left join group_aliases a on a.fingerprint = named.print`;
  const open = `select o.fingerprint from (${meant}) meant join group_aliases o on o.target = meant.print and o.moved_at is null`;
  return `array(${meant}${unmoved ? ` union ${open}` : ""})`;
}
