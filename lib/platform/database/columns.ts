/** The rows of a batch as one list for each of these members: the parameters of an `unnest`. */
export function columnsOf<Row, Name extends keyof Row>(rows: readonly Row[], ...names: Name[]): Row[Name][][] {
  return names.map((name) => rows.map((row) => row[name]));
}
