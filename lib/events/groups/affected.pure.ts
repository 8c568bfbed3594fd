/** One event of a group, as far as it says who is affected. */
export type AffectedRow = {
  source: string;
  aggregateType: string | null;
  aggregateId: string | null;
  tags: Readonly<Record<string, string>>;
};

type TagCounts = { key: string; values: { value: string; count: number }[]; others: number };

const KEYS_MAX = 5;
const VALUES_MAX = 5;

/**
 * Who is affected by these events: the number of distinct aggregates, and the tags whose values repeat, those that most events
 * have first. A tag of which every event has a value of its own, such as an order's id, tells nobody apart and is left out.
 */
export function affectedOf(rows: readonly AffectedRow[]): { aggregates: number; tags: TagCounts[] } {
  const aggregates = new Set<string>();
  const byKey = new Map<string, Map<string, number>>();
  for (const { source, aggregateType, aggregateId, tags } of rows) {
    if (aggregateId !== null) aggregates.add(JSON.stringify([source, aggregateType, aggregateId]));
    for (const [key, value] of Object.entries(tags)) {
      const values = byKey.get(key) ?? new Map<string, number>();
      values.set(value, (values.get(value) ?? 0) + 1);
      byKey.set(key, values);
    }
  }
  const counted = [...byKey].map(([key, values]) => {
    const total = [...values.values()].reduce((sum, n) => sum + n, 0);
    return { key, values, total };
  });
  const tags = counted
    .filter(({ values, total }) => values.size < total || total === 1)
    .sort(
      (one, other) => other.total - one.total || one.values.size - other.values.size || (one.key < other.key ? -1 : 1),
    )
    .slice(0, KEYS_MAX)
    .map(({ key, values, total }) => {
      const sorted = [...values]
        .map(([value, count]) => ({ value, count }))
        .sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1))
        .slice(0, VALUES_MAX);
      return { key, values: sorted, others: total - sorted.reduce((sum, { count }) => sum + count, 0) };
    });
  return { aggregates: aggregates.size, tags };
}
