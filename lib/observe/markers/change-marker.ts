import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readMarker } from "@/lib/observe/markers/markers.read";
import type { MarkerRequest } from "@/lib/observe/markers/markers.shapes";
import { uuidv7 } from "@/lib/platform/ids";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { readSourceId } from "@/lib/sources/sources.read";

type ChangeDeps = Pick<Deps, "db" | "clock">;

/** Marks a moment on the charts. Returns the id. Throws DomainError `forbidden`, `unknown-source`. */
export async function addMarker({ db, clock }: ChangeDeps, request: MarkerRequest, viewer: Viewer): Promise<string> {
  const { kind, label, source, url, at } = request;
  assertMay(viewer, "mark", source === undefined ? "all" : [source]);
  if (source !== undefined) await readSourceId(db, viewer, source);
  const atMs = clock.wallMs();
  const id = uuidv7(atMs);
  await db.transaction(async (tx) => {
    await tx.run(
      `insert into markers (id, kind, label, source, url, at, created_by, created_at)
       values ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000), $7, to_timestamp($8::float8 / 1000))`,
      [id, kind, label, source ?? null, url ?? null, at === undefined ? atMs : Date.parse(at), viewer.name, atMs],
    );
    await appendAudit(tx, {
      ...{ actor: viewer.name, action: "marker.added", subjectKind: "marker", subjectId: id, reason: null },
      ...{ before: null, after: { kind, label, source: source ?? null }, count: 1, atMs },
    });
  });
  return id;
}

/** Throws DomainError `unknown-marker`, `forbidden`. */
export async function removeMarker({ db, clock }: ChangeDeps, id: string, viewer: Viewer): Promise<void> {
  const { kind, label, source } = await readMarker(db, viewer, id);
  assertMay(viewer, "mark", source === null ? "all" : [source]);
  await db.transaction(async (tx) => {
    if ((await tx.run("delete from markers where id = $1", [id])) === 0) return;
    await appendAudit(tx, {
      ...{ actor: viewer.name, action: "marker.removed", subjectKind: "marker", subjectId: id, reason: null },
      ...{ before: { kind, label, source }, after: null, count: 1, atMs: clock.wallMs() },
    });
  });
}
