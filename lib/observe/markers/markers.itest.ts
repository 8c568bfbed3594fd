import { expect, test } from "vitest";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { addMarker, MARKERS } from "@/lib/observe/markers/markers";
import { readMarkers } from "@/lib/observe/stats/stats.read";
import { statsQueryFrom } from "@/lib/selection/stats-query.shapes";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const CLERK: Viewer = { name: "clerk", means: "session", sources: ["orders"], actions: "all" };

test("deployments, alerts, redrives and controls of a window are marks of the charts, those of other sources for nobody else", async () => {
  await world.source("billing");
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  const { id: all } = await addMarker(world.deps, { kind: "deploy", label: "platform 9", at: hourAgo }, ADA);
  await addMarker(world.deps, { kind: "incident", label: "billing is down", source: "billing" }, ADA);
  await addMarker(world.deps, { kind: "note", label: "long ago", at: "2020-01-01T00:00:00Z" }, ADA);
  await world.park(2);
  await world.request();
  await world.db.run(
    `insert into alerts (id, rule_id, rule_name, kind, severity, key, source, subject, state, since, fired_at, sentence)
     select gen_random_uuid(), gen_random_uuid(), s, 'size', 'warning', s, s, '{}', 'firing', now(), now(), 'alert of ' || s
       from unnest(array['orders', 'billing']) s`,
  );
  const marks = async (viewer: Viewer) => {
    // The clock of the store has microseconds: what happened just now lies within the window.
    const query = statsQueryFrom(new URLSearchParams("from=-2h"), Date.now() + 1_000, []);
    return (await readMarkers(world.db, viewer, query)).items.map(({ kind, label }) => `${kind} ${label}`).sort();
  };
  const seen = ["alert alert of orders", "deploy platform 9", "redrive stock service is back"];
  expect(await marks(CLERK)).toEqual(seen);
  expect(await marks(ADA)).toEqual([...seen, "alert alert of billing", "incident billing is down"].sort());
  expect((await MARKERS.page(world.db, CLERK, { limit: 10, cursor: null })).items.map(({ label }) => label)).toEqual([
    "long ago",
    "platform 9",
  ]);

  await expect(MARKERS.remove(world.deps, { key: all }, CLERK)).rejects.toMatchObject({ code: "forbidden" });
  await MARKERS.remove(world.deps, { key: all }, ADA);
  await expect(MARKERS.remove(world.deps, { key: all }, ADA)).rejects.toMatchObject({ code: "unknown-marker" });
  await expect(addMarker(world.deps, { kind: "note", label: "x", source: "odrers" }, ADA)).rejects.toMatchObject({
    code: "unknown-source",
  });
  await world.db.run("update alerts set state = 'resolved', resolved_at = now() where source = 'billing'");
  await world.db.run("update redrives set state = 'CANCELLED', finished_at = now()");
  // The store's clock has microseconds: what happened just now lies within the window.
  const query = statsQueryFrom(new URLSearchParams("from=-2h&source=billing"), Date.now() + 1_000, ["source"]);
  const ofBilling = (await readMarkers(world.db, ADA, query)).items;
  expect(ofBilling.map(({ kind }) => kind).sort()).toEqual(["alert", "alert-resolved", "incident"]);
  const ended = (await readMarkers(world.db, CLERK, { ...query, filter: {} })).items.filter(
    ({ kind }) => kind === "redrive-ended",
  );
  expect(ended).toEqual([expect.objectContaining({ href: `/redrives/${ended[0]!.id}` })]);
  const actions = await world.db.query("select action from audit_entries where subject_kind = 'marker' order by id");
  expect(actions.map(({ action }) => action)).toEqual([
    "marker.added",
    "marker.added",
    "marker.added",
    "marker.removed",
  ]);
});
