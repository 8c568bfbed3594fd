/** A cell of a vector's table. */
export type Cell = string | number | boolean | null;

/** One test vector as it stands in vectors.json. Which fields it has depends on its kind. */
export type Vector = {
  id: string;
  area: string;
  title: string;
  origin: string;
  kind: string;
  source: { repo?: string; path?: string; url?: string; licence?: string; commit?: string; test?: string };
  // biome-ignore lint/suspicious/noExplicitAny: vectors are data of many shapes; each case reads the ones it names
  [field: string]: any;
};

/** One comparison. With a tolerance, numbers are compared to within it. */
export type Check = { what: string; actual: unknown; expected: unknown; tolerance?: number };

/** Runs a vector against the engine. */
export type Case = (vector: Vector) => Check[] | Promise<Check[]>;

export type Cases = Readonly<Record<string, Case>>;

/** One check for each row of the vector's table. */
export function eachRow(vector: Vector, check: (row: Cell[], index: number) => Omit<Check, "what">): Check[] {
  return (vector.rows ?? vector.steps).map((row: Cell[], index: number) => ({
    what: `row ${index}: ${JSON.stringify(row)}`,
    ...check(row, index),
  }));
}

/** The same case for many ids. */
export function sameFor(ids: readonly string[], run: Case): Cases {
  return Object.fromEntries(ids.map((id) => [id, run]));
}
