export type FieldChange = {
  /** JSON path: `policy.retry.maxAttempts`, `steps[2]`. Empty for a bare value. */
  path: string;
  kind: "added" | "removed" | "changed" | "same";
  before: string | null;
  after: string | null;
};

/** A value deeper or wider than these bounds is shown as one JSON text: a diff must not unfold a megabyte. */
const DEPTH_MAX = 8;
const FIELDS_MAX = 500;

/**
 * Before and after, field by field: the fields of `before` in their order, then the new fields. `null`, `undefined` and
 * an absent value all mean "no value": a creation lists only additions, a deletion only removals.
 */
export function fieldDiff(before: unknown, after: unknown): FieldChange[] {
  const old = leaves(before);
  const fresh = leaves(after);
  const paths = [...old.keys(), ...[...fresh.keys()].filter((path) => !old.has(path))];
  return paths.map((path) => {
    const was = old.get(path) ?? null;
    const is = fresh.get(path) ?? null;
    const kind = was === null ? "added" : is === null ? "removed" : was === is ? "same" : "changed";
    return { path, kind, before: was, after: is };
  });
}

function leaves(whole: unknown): Map<string, string> {
  const found = new Map<string, string>();
  if (whole !== null && whole !== undefined) collect(found, "", whole, 0);
  return found;
}

function collect(found: Map<string, string>, path: string, value: unknown, depth: number): void {
  const inner = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (inner.length === 0 || depth === DEPTH_MAX || found.size + inner.length > FIELDS_MAX) {
    found.set(path, JSON.stringify(value) ?? "undefined");
    return;
  }
  for (const [key, child] of inner) {
    const step = Array.isArray(value) ? `[${key}]` : path === "" ? key : `.${key}`;
    collect(found, path + step, child, depth + 1);
  }
}

/** The changed fields in one line: `state: "RUNNING" → "PAUSED"`, `note: was "too slow"`; at most `most` fields. */
export function diffSummary(changes: FieldChange[], most = 2): string {
  const real = changes.filter((change) => change.kind !== "same");
  const shown = real.slice(0, most).map((change) => {
    const name = change.path === "" ? "value" : change.path;
    if (change.kind === "added") return `${name}: ${change.after}`;
    if (change.kind === "removed") return `${name}: was ${change.before}`;
    return `${name}: ${change.before} → ${change.after}`;
  });
  return real.length > most ? `${shown.join(", ")}, ${real.length - most} more` : shown.join(", ");
}
