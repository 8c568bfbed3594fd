/** Collects values and hands out their `$n`. */
export type Params = { values: unknown[]; add(value: unknown): string };

export function paramsFrom(first = 1): Params {
  const values: unknown[] = [];
  return {
    values,
    add: (value) => {
      values.push(value);
      return `$${first + values.length - 1}`;
    },
  };
}
