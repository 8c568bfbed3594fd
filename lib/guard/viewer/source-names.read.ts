import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { nearName } from "@/lib/platform/plain/near-name.pure";
import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";

export function unknownSource(name: string, field = "name", near?: string): DomainError {
  return new DomainError("unknown-source", noSuchSource(name, near), {
    fields: [{ field, detail: "list sources with GET /api/v1/sources" }],
  });
}

function noSuchSource(name: string, near: string | undefined): string {
  return `There is no source ${JSON.stringify(name)}${near === undefined ? "" : `: is ${near} meant?`}`;
}

/** Sources among which the one that was probably meant is looked for. */
const NEAR_AMONG_MAX = 10_000;

/** What is wrong with these names of sources, by the field that holds them. */
export async function unknownSourceFaults(
  db: Queryable,
  viewer: Viewer,
  { names, field }: { names: readonly string[]; field: string },
): Promise<FieldError[]> {
  const unknown = await readUnknownSources(db, viewer, names);
  return unknown.map(({ name, near }) => ({ field, detail: unknownSource(name, field, near).message }));
}

/** The names that no source has which the viewer sees, each with the one that was probably meant. */
export async function readUnknownSources(
  db: Queryable,
  viewer: Viewer,
  names: readonly string[],
): Promise<{ name: string; near: string | undefined }[]> {
  const scope = sourceScope(viewer);
  const unknown = await db.query<{ name: string }>(
    `select w.name from unnest($1::text[]) as w(name)
      where not exists (select 1 from sources s where s.name = w.name and ($2::text[] is null or s.name = any($2)))`,
    [[...new Set(names)], scope],
    { name: "unknown-sources" },
  );
  if (unknown.length === 0) return [];
  const known = await db.query<{ name: string }>(
    `select name from sources where $1::text[] is null or name = any($1) order by name limit ${NEAR_AMONG_MAX}`,
    [scope],
    { name: "names-of-sources" },
  );
  const seen = known.map(({ name }) => name);
  return unknown.map(({ name }) => ({ name, near: nearName(name, seen) }));
}

/** Throws DomainError `unknown-source` for one that the viewer does not see, too. */
export async function readSourceId(db: Queryable, viewer: Viewer, name: string): Promise<string> {
  const [row] = await db.query<{ id: string }>(
    "select id from sources where name = $1 and ($2::text[] is null or name = any($2))",
    [name, sourceScope(viewer)],
    { name: "source-id" },
  );
  if (!row) throw unknownSource(name);
  return row.id;
}
