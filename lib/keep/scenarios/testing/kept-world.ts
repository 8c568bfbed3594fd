import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { removeLeftovers } from "@/lib/keep/archive/remove-leftovers";
import { unpackLines } from "@/lib/keep/archive/sets/archive-lines";
import { setKeysBeside } from "@/lib/keep/archive/sets/set-key.pure";
import { verifyArchive } from "@/lib/keep/archive/verify-archive";
import { forgetData } from "@/lib/keep/forget/forget-data";
import { removeEvents } from "@/lib/keep/removal/remove-events";
import { type KeepDeps, WORKS, type Work } from "@/lib/keep/scenarios/testing/keep-works";
import { parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { type ArchiveStore, openArchiveStore } from "@/lib/platform/archive/archive-store";
import type { S3Keys } from "@/lib/platform/archive/s3-bucket";
import { systemClock } from "@/lib/platform/clock";
import { UUID_MIN } from "@/lib/platform/ids";
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

const PERSONS = { hers: "grace.hopper@example.org", his: "alan.turing@example.org" };
const ADA = localViewer("ada");
const DAY_MS = 86_400_000;

export type KeptEvent = { eventId: string; of: "hers" | "his" | "nobody"; ignored: boolean };

/** Of one source, parked on two days. What is archived of the first day is all hers, and of the second in part hers and in part his. */
const EVENTS: { daysAgo: 1 | 2; of: KeptEvent["of"]; ignored: boolean }[] = [
  { daysAgo: 2, of: "hers", ignored: true },
  { daysAgo: 2, of: "hers", ignored: false },
  { daysAgo: 1, of: "nobody", ignored: true },
  { daysAgo: 1, of: "hers", ignored: true },
  { daysAgo: 1, of: "hers", ignored: false },
  { daysAgo: 1, of: "his", ignored: true },
  { daysAgo: 1, of: "his", ignored: false },
  { daysAgo: 1, of: "nobody", ignored: false },
];
/** An event of so many days ago is due. */
const KEPT_DAYS = 30;

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
    const events = EVENTS.map((event, index) => ({ ...event, eventId: `${source}-${index}` }));
    for (const daysAgo of [2, 1]) {
      const atMs = systemClock.wallMs() - (daysAgo + (isDue ? KEPT_DAYS : 0)) * DAY_MS;
      const arrivals = events
        .filter((event) => event.daysAgo === daysAgo)
        .map(({ eventId, of }) => ({
          source,
          letter: deadLetter({
            ...{ eventId, aggregateId: `of-${eventId}`, version: 1n, failedAtMs: atMs },
            tags: of === "nobody" ? {} : { customer: PERSONS[of] },
          }),
        }));
      await parkEvents({ ...world.deps, clock: { ...systemClock, wallMs: () => atMs } }, arrivals, ADA);
    }
    const ids = await world.idsOf(events.filter(({ ignored }) => ignored).map(({ eventId }) => eventId));
    await ignoreEvents(world.deps, { select: { ids }, reason: "test orders" }, ADA);
    return events;
  }

  const requestRemoval = (source: string) =>
    removeEvents(deps(), { select: { filter: { source: [source] } }, reason: "the disk is full" }, ADA);

  async function requestForget(source: string, of: keyof typeof PERSONS): Promise<string> {
    const key = { tag: { name: "customer", value: PERSONS[of] } };
    return (await forgetData(world.deps, { key, source, reason: "request 311", idempotency: null }, ADA)).id;
  }

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
      await requestForget(source, "hers");
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
    for (let after: string | null = UUID_MIN; after !== null; ) {
      const answer = await verifyArchive({ db: world.db, archive }, { ...scope, after }, ADA);
      found.push(...answer.faults);
      after = answer.next;
    }
    return found;
  }

  /** After a forget: the archive has no object that the store does not name, and no line that names the person. */
  async function expectForgotten(of: keyof typeof PERSONS): Promise<void> {
    const person = PERSONS[of];
    // What a killed worker has written is removed when its time is over.
    await world.db.run("update archive_leftovers set remove_at = now()");
    while ((await world.db.query("select 1 from archive_leftovers limit 1")).length > 0) await removeLeftovers(deps());
    const sets = await world.db.query<{ key: string }>("select key from archive_objects");
    const named = sets.flatMap(({ key }) => [key, setKeysBeside(key).parquet, setKeysBeside(key).manifest]);
    const there: string[] = [];
    for await (const { key } of archive.list("")) there.push(key);
    expect(there.toSorted()).toEqual(named.toSorted());
    for (const { key } of sets) {
      for (const line of await unpackLines((await archive.get(key))!)) expect(line.includes(person)).toBe(false);
    }
    expect(
      await world.db.query("select 1 from dlq_event_facts where tags::text like '%' || $1 || '%'", [person]),
    ).toEqual([]);
  }

  return { world, deps, park, begin, requestForget, places, rows, faults, expectForgotten, place: () => place };
}
