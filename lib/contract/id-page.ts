import { DomainError, type ProblemCode } from "@/lib/core/problem";

/** A keyset page over UUIDv7 ids, newest first: the cursor is the last id of the page before. */
export type IdPage = { limit: number; cursor: string | null };

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Reads `limit` and `cursor`. Throws DomainError `invalid-request` or `invalid-cursor`. */
export function idPageFrom(params: URLSearchParams): IdPage {
  const limit = params.get("limit");
  const count = limit === null ? LIMIT_DEFAULT : wholeNumber(limit);
  if (!Number.isInteger(count) || count < 1 || count > LIMIT_MAX) {
    throw new DomainError("invalid-request", `limit: must be a whole number from 1 to ${LIMIT_MAX}`, {
      fields: [{ field: "limit", detail: `must be a whole number from 1 to ${LIMIT_MAX}` }],
    });
  }
  const cursor = params.get("cursor");
  if (cursor !== null && !UUID.test(cursor)) {
    throw new DomainError("invalid-cursor", "cursor: not one of this list's; start again without it", {
      fields: [{ field: "cursor", detail: "use the nextCursor of the page before, or leave it out" }],
    });
  }
  return { limit: count, cursor };
}

/** NaN for anything but digits: `0x10` and `1e2` are numbers to JavaScript, and nobody means them. */
export function wholeNumber(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
}

/** Cuts a page read with one row too many; that row tells whether there is a next page. */
export function cutPage<Item>(rows: Item[], limit: number, idOf: (item: Item) => string) {
  const items = rows.slice(0, limit);
  return { items, nextCursor: rows.length > limit ? idOf(items.at(-1)!) : null };
}

/** The named parameters of a query string; any other is refused, so that a misspelt filter is never silently wide. */
export function namedParams<Name extends string>(
  params: URLSearchParams,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  for (const name of new Set(params.keys())) {
    if (params.getAll(name).length > 1) {
      const detail = "must be given once";
      throw new DomainError("invalid-request", `${name}: ${detail}`, { fields: [{ field: name, detail }] });
    }
    if (name === "limit" || name === "cursor") continue;
    if (!(names as readonly string[]).includes(name)) {
      const detail = names.length === 0 ? "unknown" : `unknown: use ${names.join(", ")}`;
      throw new DomainError("invalid-request", `${name}: ${detail}`, { fields: [{ field: name, detail }] });
    }
    found[name as Name] = params.get(name)!;
  }
  return found;
}

/** The path parameter as an id, or DomainError of the given code. */
export function idParam(value: string | undefined, code: Extract<ProblemCode, `unknown-${string}`>): string {
  if (value && UUID.test(value)) return value.toLowerCase();
  throw new DomainError(code, `There is no ${code.slice("unknown-".length).replace("-", " ")} ${value ?? ""}`, {
    fields: [{ field: "id", detail: "must be a UUID" }],
  });
}
