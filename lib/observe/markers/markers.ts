import { Noun, type NounDeps } from "@/lib/guard/noun";
import { readSourceId } from "@/lib/guard/viewer/source-names.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { type MarkerOut, type MarkerRequest, markerSchema } from "@/lib/observe/markers/markers.shapes";
import { iso } from "@/lib/platform/plain/iso-time.pure";

/** Moments that people marked on the charts, the newest stored first. */
export const MARKERS = new Noun<MarkerOut>({
  table: "markers",
  schema: markerSchema,
  // One without a source is seen by everybody.
  seen: "($1::text[] is null or t.source is null or t.source = any($1))",
  key: "id",
  subject: "marker",
  verbs: { create: "added", remove: "removed" },
  needs: "mark",
  sourcesOf: ({ source }) => (source === null ? null : [source]),
  audited: ({ kind, label, source }) => ({ kind, label, source }),
  unknown: (id) => ["unknown-marker", `There is no marker ${id}`, "list markers with GET /api/v1/markers"],
});

/** Marks a moment on the charts, now unless `at` says otherwise. Throws DomainError `forbidden`, `unknown-source`. */
export async function addMarker(deps: NounDeps, request: MarkerRequest, viewer: Viewer): Promise<MarkerOut> {
  const { kind, label, source = null, url = null, at } = request;
  return MARKERS.create(deps, { set: { kind, label, source, url } }, viewer, async (tx, { atMs }) => {
    if (source !== null) await readSourceId(tx, viewer, source);
    return { at: iso(at === undefined ? atMs : Date.parse(at)) };
  });
}
