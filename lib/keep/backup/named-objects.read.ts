import type { Queryable } from "@/lib/platform/database/db";

/** The objects that hold events which are archived now. An object whose events have all come back is not needed any more. */
const NAMED = "archive_objects o where exists (select from archived_events e where e.object_id = o.id)";

export async function readArchivePosition(
  store: Queryable,
): Promise<{ objects: number; bytes: number; newest: string | null }> {
  const [row] = await store.query<{ objects: number; bytes: string; newest: string | null }>(
    `select count(*) as objects, coalesce(sum(bytes), 0)::text as bytes, (array_agg(id order by id desc))[1] as newest from ${NAMED}`,
  );
  return { ...row!, bytes: Number(row!.bytes) };
}

type NamedObject = { key: string; bytes: number };

const PAGE = 1_000;

/** All of them, in the order of the bytes of their keys. */
export async function* readNamedObjects(store: Queryable): AsyncGenerator<NamedObject> {
  for (let after = ""; ; ) {
    const page = await store.query<NamedObject>(
      `select o.key, o.bytes from ${NAMED} and o.key collate "C" > $1 order by o.key collate "C" limit ${PAGE}`,
      [after],
    );
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)!.key;
  }
}
