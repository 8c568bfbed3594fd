import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { parseArchiveLocation } from "@/lib/keep/archive/archive-location.pure";
import { unpackLines } from "@/lib/keep/archive/sets/archive-lines";
import { setKeysBeside } from "@/lib/keep/archive/sets/set-key.pure";
import { type ArchiveStore, openArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import type { S3Keys } from "@/lib/keep/archive/stores/s3-bucket";
import { verifyArchive } from "@/lib/keep/archive/verify-archive";
import { forgetData } from "@/lib/keep/forget/forget-data";
import { removeLeftovers } from "@/lib/keep/forget/work-forget";
import { removeEvents } from "@/lib/keep/removal/remove-events";
import { type KeepDeps, WORKS, type Work } from "@/lib/keep/scenarios/testing/keep-works";
import { systemClock } from "@/lib/platform/clock";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { testVersitygw, versitygwMissing } from "@/lib/testing/versitygw";

type Place = { location: string; keys: S3Keys | null; close(): Promise<void> };

/** Places of an archive. `missing`: why there is none here. */
export const PLACES: { name: string; missing: string | null; open(): Promise<Place> }[] = [
  {
    name: "a folder",
    missing: null,
    open: async () => {
      const folder = mkdtempSync(join(tmpdir(), "parkade-archive-"));
      return { location: `file://${folder}`, keys: null, close: async () => rmSync(folder, { recursive: true }) };
    },
  },
  {
    name: "S3",
    missing: versitygwMissing,
    open: async () => {
      const server = await testVersitygw();
      await server.makeBucket("kept");
      const location = `s3://kept?endpoint=${encodeURIComponent(server.endpoint)}`;
      return { location, keys: server.keys, close: server.stop };
    },
  },
];

const PERSON = "grace.hopper@example.org";
const ADA = localViewer("ada");
const DAY_MS = 86_400_000;
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/** Of one source, parked on two days. What is archived of the first day is all of PERSON, and of the second in part. */
const EVENTS = 8;
const isIgnored = (index: number) => index % 2 === 0;
const isHers = (index: number) => index % 4 < 2;
const daysAgo = (index: number, isDue: boolean) => (index < 2 ? 2 : 1) + (isDue ? 30 : 0);

export type KeptEvent = { eventId: string; hers: boolean; ignored: boolean };

/** A world of its own for each test of the `describe`, with an archive in this place, and what must hold of events wherever they lie. */
export function keptWorldOfEachTest(open: () => Promise<Place>) {
  const env: Record<string, string> = {};
  const world = worldOfEachTest({ env });
  let place: Place;
  let archive: ArchiveStore;
  beforeAll(async () => {
    place = await open();
    env.PARKADE_ARCHIVE = place.location;
    if (place.keys === null) return;
    env.PARKADE_SECRET_ARCHIVE_KEY_ID = place.keys.accessKeyId;
    env.PARKADE_SECRET_ARCHIVE_KEY = place.keys.secretAccessKey;
  });
  afterAll(() => place?.close());
  beforeEach(() => {
    archive = openArchiveStore(parseArchiveLocation(place.location), { clock: systemClock, keys: place.keys });
  });
  afterEach(async () => {
    // The next test names other objects.
    for await (const { key } of archive.list("")) await archive.remove(key);
    await archive.close();
  });
  const deps = (): KeepDeps => ({ ...world.deps, archive });

  /** Parks and ignores events of a new source. `isDue`: they expire. */
  async function park(source: string, isDue: boolean): Promise<KeptEvent[]> {
    await world.source(source);
    const events = Array.from({ length: EVENTS }, (_, index) => ({
      eventId: `${source}-${index}`,
      hers: isHers(index),
      ignored: isIgnored(index),
    }));
    for (const [index, { eventId, hers }] of events.entries()) {
      const atMs = systemClock.wallMs() - daysAgo(index, isDue) * DAY_MS;
      const tags: Record<string, string> = hers ? { customer: PERSON } : {};
      const letter = deadLetter({ eventId, aggregateId: `of-${eventId}`, version: 1n, failedAtMs: atMs, tags });
      await parkEvents({ ...world.deps, clock: { ...systemClock, wallMs: () => atMs } }, [{ source, letter }], ADA);
    }
    const ids = await world.idsOf(events.filter(({ ignored }) => ignored).map(({ eventId }) => eventId));
    await ignoreEvents(world.deps, { select: { ids }, reason: "test orders" }, ADA);
    return events;
  }

  const requestRemoval = (source: string) =>
    removeEvents(deps(), { select: { filter: { source: [source] } }, reason: "the disk is full" }, ADA);

  /** Asks for a work of `WORKS` on the events of a source. */
  const begin: Record<Work, (source: string) => Promise<unknown>> = {
    removal: requestRemoval,
    // A period is looked at once a day: today again.
    expiry: () => world.db.run("delete from retention_runs"),
    restore: async (source) => {
      await requestRemoval(source);
      await WORKS.removal(deps());
    },
    forget: async (source) => {
      await begin.restore(source);
      const key = { tag: { name: "customer", value: PERSON } };
      await forgetData(world.deps, { key, source, reason: "request 311", idempotency: null }, ADA);
    },
  };

  /** Where each event lies, by its eventId: more than one word for one that is doubled. */
  async function places(): Promise<Record<string, string>> {
    const found = await world.db.query<{ id: string; places: string }>(
      `select event_id as id, string_agg(place, ' and ') as places
         from (select event_id, 'store' as place from dlq_events union all select event_id, 'archive' from archived_events) p
        group by 1`,
    );
    return Object.fromEntries(found.map((event) => [event.id, event.places]));
  }

  /** The stored events whole, by their ids. */
  async function rows(): Promise<Record<string, unknown>> {
    const found = await world.db.query<{ id: string }>(
      `select e.event_id as id, e::text as event, f::text as facts, b::text as body
         from dlq_events e join dlq_event_facts f on f.id = e.id join dlq_event_bodies b on b.id = e.id`,
    );
    return Object.fromEntries(found.map((row) => [row.id, row]));
  }

  /** Of the objects that the store names, of one source or of all, those that are not what was written. */
  async function faults(scope: { source?: string } = {}): Promise<unknown[]> {
    const found: unknown[] = [];
    // Where there is no object, a first page is refused, and a later one is empty.
    for (let after: string | null = FIRST_ID; after !== null; ) {
      const answer = await verifyArchive({ db: world.db, archive }, { ...scope, after }, ADA);
      found.push(...answer.faults);
      after = answer.next;
    }
    return found;
  }

  /** After a forget: the archive has no object that the store does not name, and no line that names the person. */
  async function expectForgotten(): Promise<void> {
    // What a killed worker has written is removed when its time is over.
    await world.db.run("update archive_leftovers set remove_at = now()");
    await removeLeftovers(deps());
    const sets = await world.db.query<{ key: string }>("select key from archive_objects");
    const named = sets.flatMap(({ key }) => [key, setKeysBeside(key).parquet, setKeysBeside(key).manifest]);
    const there: string[] = [];
    for await (const { key } of archive.list("")) there.push(key);
    expect(there.toSorted()).toEqual(named.toSorted());
    for (const { key } of sets) {
      for (const line of await unpackLines((await archive.get(key))!)) expect(line.includes(PERSON)).toBe(false);
    }
    expect(
      await world.db.query("select 1 from dlq_event_facts where tags::text like '%' || $1 || '%'", [PERSON]),
    ).toEqual([]);
  }

  return { world, deps, park, begin, places, rows, faults, expectForgotten, place: () => place };
}
