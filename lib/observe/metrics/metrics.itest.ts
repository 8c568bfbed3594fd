import { expect, test } from "vitest";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { workVerifications } from "@/lib/guard/audit-chain/work-verifications";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { readMetrics } from "@/lib/observe/metrics/metrics.read";
import { systemClock } from "@/lib/platform/clock";
import { createLog } from "@/lib/platform/log";
import { storeOfFile } from "@/lib/testing/store-of-file";

const ADA = localViewer("ada");
const log = createLog({ process: "test", level: "silent" });
const { db } = storeOfFile({ max: 4 });

/** The samples of the audit: name and labels, with their values in whole minutes for an age. */
async function scraped(viewer: Viewer = ADA): Promise<Record<string, number>> {
  const metrics = await readMetrics(db, viewer, systemClock.wallMs());
  const samples = metrics
    .filter(({ name }) => name.startsWith("parkade_audit_"))
    .flatMap(({ name, samples }) =>
      samples.map(({ labels, value }) => ({ name: [name, ...Object.values(labels ?? {})].join(" "), value })),
    );
  const known = samples.flatMap(({ name, value }) =>
    value === null ? [] : [[name, /_seconds/.test(name) ? Math.floor(value / 60) : value]],
  );
  return Object.fromEntries(known);
}

const append = () =>
  db.transaction((tx) =>
    appendAudit(tx, {
      ...{ actor: "ada", action: "setting.changed", subjectKind: "setting", subjectId: "a", count: 1 },
      ...{ before: null, after: null, atMs: systemClock.wallMs() },
    }),
  );

test("what waits, was checked and anchored is in the metrics, and what is not known is left out", async () => {
  expect(await scraped()).toEqual({ parkade_audit_unsealed_entries: 0 });
  for (let i = 0; i < 3; i++) await append();
  await db.run(
    "update audit_pending set since = since - interval '7 minutes' where ctid = (select min(ctid) from audit_pending)",
  );
  expect(await scraped()).toEqual({ parkade_audit_unsealed_entries: 3, parkade_audit_unsealed_oldest_seconds: 7 });
  await sealEntries(db);
  await workVerifications({ db, clock: systemClock, log, places: [] });
  await db.run("update audit_verifications set finished_at = finished_at - interval '3 minutes'");
  await db.run(
    `insert into audit_anchors (id, place, seq, chain_hash, at)
     select uuidv7(interval '-1 hour' * n), place, 1, 'x', now() - interval '1 hour' * n
       from unnest('{s3://b,file:///a}'::text[], '{0,2}'::int[]) p (place, base), generate_series(base, base + 4) n`,
  );
  expect(await scraped()).toEqual({
    parkade_audit_unsealed_entries: 0,
    "parkade_audit_good whole": 1,
    "parkade_audit_good_age_seconds whole": 3,
    "parkade_audit_anchor_age_seconds s3://b": 0,
    "parkade_audit_anchor_age_seconds file:///a": 120,
  });
  await db.run("update audit_entries set actor = 'eve'");
  const ahead = { ...systemClock, wallMs: () => systemClock.wallMs() + 301_000 };
  await workVerifications({ db, clock: ahead, log, places: [] });
  await db.run("delete from audit_seals where seq = 2");
  await workVerifications({
    db,
    clock: { ...ahead, wallMs: () => ahead.wallMs() + 86_400_000 },
    log,
    places: [],
  });
  expect(await scraped()).toMatchObject({
    "parkade_audit_good whole": 0,
    "parkade_audit_good recent": 0,
    "parkade_audit_good_age_seconds whole": 3,
  });
});

test("a viewer of some sources sees nothing of the chain", async () => {
  expect(await scraped({ ...ADA, sources: ["orders"] })).toEqual({});
});

test("the size of each table counts its days and indexes, for viewers of all sources", async () => {
  const sizes = async (viewer: Viewer, nowMs: number) => {
    const metrics = await readMetrics(db, viewer, nowMs);
    const { samples } = metrics.find(({ name }) => name === "parkade_table_bytes")!;
    return new Map(samples.map(({ labels, value }) => [labels!.table, value!]));
  };
  const nowMs = systemClock.wallMs() + 3_600_000;
  await ensurePartitions(db, nowMs, nowMs);
  const first = await sizes(ADA, nowMs);
  expect(first.get("dlq_events")).toBeGreaterThan(0);
  expect([...first.keys()].filter((table) => /\d{4}/.test(table!))).toEqual([]);
  await db.run(
    "insert into settings (key, value, updated_by) select 'filler ' || n, to_jsonb(repeat('x', 2000)), 'ada' from generate_series(1, 100) n",
  );
  expect((await sizes(ADA, nowMs)).get("settings")).toBe(first.get("settings"));
  expect((await sizes(ADA, nowMs + 61_000)).get("settings")).toBeGreaterThan(first.get("settings")!);
  expect((await sizes({ ...ADA, sources: ["orders"] }, nowMs)).size).toBe(0);
});
