import { createHash } from "node:crypto";
import { ATTRIBUTE_PREFIXES, STRUCTURED_CLOUDEVENT } from "@/lib/brokers/conventions/cloudevents.pure";
import type { Parking } from "@/lib/intake/park.write";
import { ArchivedArrival } from "@/lib/intake/restore-arrivals";
import { documentIn } from "@/lib/platform/api/payload-pointer.shapes";
import type { Tx } from "@/lib/platform/database/db";
import { type DeadLetter, type Header, headerText, type Origin } from "@/lib/platform/plain/dead-letter.pure";

/**
 * The producer of an event, which is a part of its identity where its convention says so (docs/identity.md). An event that was
 * parked by a release which did not know of producers has none in its key, and is still the event of its producer.
 */

/** An index entry has a size limit, and holds the id and the consumer's name as well. */
const PRODUCER_BYTES_MAX = 200;

/** The producer as keys hold it. Cutting one would make two of them one, so a long one keeps its start and gets a hash of all of it. */
export function storedProducer(producer: string): string {
  const bytes = Buffer.from(producer, "utf8");
  if (bytes.length <= PRODUCER_BYTES_MAX) return producer;
  const start = producer.slice(0, PRODUCER_BYTES_MAX / 6).toWellFormed();
  return `${start}~${createHash("sha256").update(bytes).digest("hex")}`;
}

export function withStoredProducer(letter: DeadLetter): DeadLetter {
  return letter.producer === undefined ? letter : { ...letter, producer: storedProducer(letter.producer) };
}

type KnownKey = { n: number; id: string; producer: string; sent: boolean };

/**
 * The arrivals under the keys by which their events are known. A letter that comes back from a redrive may have lost its
 * producer, or got another one by an edit: its mark says which event it is. One of an event that was parked without a producer
 * in its key is known by what was stored of that event. Throws ArchivedArrival when that lies in the archive; `lost`: the ids
 * of those that the archive did not give back.
 */
export async function ofKnownProducers<P extends Parking>(
  tx: Tx,
  parkings: readonly P[],
  lost: ReadonlySet<string>,
): Promise<readonly P[]> {
  const named = parkings.filter(({ letter }) => letter.producer !== undefined || letter.redrive !== null);
  if (named.length === 0) return parkings;
  const keys = Map.groupBy(await knownKeys(tx, named), ({ n }) => n);
  const renamed = new Map<P, string>();
  const unnamed: { parking: P; id: string }[] = [];
  named.forEach((parking, n) => {
    const { producer = "" } = parking.letter;
    const known = keys.get(n) ?? [];
    const ofRedrive = known.filter(({ sent }) => sent);
    if (ofRedrive.length === 1) renamed.set(parking, ofRedrive[0]!.producer);
    else if (producer !== "" && known.every((key) => key.producer !== producer)) {
      const before = known.find((key) => key.producer === "");
      if (before) unnamed.push({ parking, id: before.id });
    }
  });
  const { producers, archived } = await storedProducers(
    tx,
    unnamed.map(({ id }) => id),
  );
  const away = archived.filter((id) => !lost.has(id));
  if (away.length > 0) throw new ArchivedArrival(away);
  for (const { parking, id } of unnamed) if (producers.get(id) === parking.letter.producer) renamed.set(parking, "");
  if (renamed.size === 0) return parkings;
  return parkings.map((parking) => {
    const producer = renamed.get(parking);
    return producer === undefined
      ? parking
      : { ...parking, letter: { ...parking.letter, producer: producer || undefined } };
  });
}

/** All keys of the ids of these letters, with their place among them. `sent`: the redrive that the letter names has the event. */
async function knownKeys(tx: Tx, parkings: readonly Parking[]): Promise<KnownKey[]> {
  return tx.query<KnownKey>(
    `select w.n::int - 1 as n, k.id, k.producer,
            exists (select from redrive_items i where i.id = k.id and i.redrive_id = w.redrive) as sent
       from unnest($1::uuid[], $2::text[], $3::uuid[]) with ordinality as w (source_id, event_id, redrive, n)
       join event_keys k on k.event_id = w.event_id and k.source_id = w.source_id`,
    [
      parkings.map(({ sourceId }) => sourceId),
      parkings.map(({ letter }) => letter.eventId),
      parkings.map(({ letter }) => letter.redrive?.redriveId ?? null),
    ],
    { name: "known-keys" },
  );
}

type StoredLetter = {
  id: string;
  archived: boolean;
  headers: DeadLetter["headers"] | null;
  origin: Origin | null;
  structured: Buffer | null;
};

/** The producers of events that have none in their key, as keys would hold them. An event that is no CloudEvent is absent. */
async function storedProducers(
  tx: Tx,
  ids: readonly string[],
): Promise<{ producers: ReadonlyMap<string, string>; archived: string[] }> {
  if (ids.length === 0) return { producers: new Map(), archived: [] };
  const rows = await tx.query<StoredLetter>(
    `select w.id, exists (select from archived_events a where a.id = w.id) as archived,
            b.headers, b.origin,
            case when b.content_type ilike '${STRUCTURED_CLOUDEVENT}%' then b.payload end as structured
       from unnest($1::uuid[]) as w (id) left join dlq_event_bodies b on b.id = w.id`,
    [[...new Set(ids)]],
    { name: "stored-producers" },
  );
  const producers = rows.flatMap((row): [string, string][] => {
    const producer = producerIn(row);
    return producer === null ? [] : [[row.id, storedProducer(producer)]];
  });
  return {
    producers: new Map(producers),
    archived: rows.flatMap(({ id, archived }) => (archived ? [id] : [])),
  };
}

/** `id` null = no event of it is known. */
type NamedEvent = { eventId: string; producer: string; id: string | null };

/**
 * The events of a source that somebody names by the ids of their producer. Without one, an id names the event that has it
 * when it is the only one. `several`: the number of ids that name more than one event.
 */
export async function namedEvents(
  tx: Tx,
  { sourceId, eventIds, producer }: { sourceId: string; eventIds: readonly string[]; producer: string | undefined },
): Promise<{ named: NamedEvent[]; several: number }> {
  const rows = await tx.query<NamedEvent & { id: string }>(
    `select k.event_id as "eventId", k.producer, k.id from event_keys k where k.source_id = $1 and k.event_id = any($2::text[])`,
    [sourceId, eventIds],
    { name: "named-events" },
  );
  const keys = Map.groupBy(rows, ({ eventId }) => eventId);
  if (producer === undefined) {
    const named = eventIds.flatMap((eventId): NamedEvent[] => {
      const [only = { eventId, producer: "", id: null }, ...others] = keys.get(eventId) ?? [];
      return others.length === 0 ? [only] : [];
    });
    return { named, several: eventIds.length - named.length };
  }
  const wanted = storedProducer(producer);
  const { producers } = await storedProducers(
    tx,
    rows.flatMap((key) => (key.producer === "" ? [key.id] : [])),
  );
  const named = eventIds.map((eventId): NamedEvent => {
    const known = keys.get(eventId) ?? [];
    const own = known.find((key) => key.producer === wanted) ?? known.find(({ id }) => producers.get(id) === wanted);
    return own ?? { eventId, producer: wanted, id: null };
  });
  return { named, several: 0 };
}

/** null = it has none, or its body lies in the archive. */
function producerIn({ headers, origin, structured }: StoredLetter): string | null {
  if (headers === null || origin === null) return null;
  if (structured !== null) {
    const document = documentIn(structured, structured.byteLength);
    const source = (document as { source?: unknown } | undefined)?.source;
    return typeof source === "string" ? source : null;
  }
  return ofHeaders(headers, origin) ?? SCOPES[origin.convention ?? ""]?.(origin) ?? null;
}

const textIn = (value: unknown) => (typeof value === "string" && value !== "" ? value : null);

/** What each convention calls the scope of its message ids, where a stored origin has it: equal to `within` of its reading. */
const SCOPES: Readonly<Record<string, (origin: Origin) => string | null>> = {
  nservicebus: ({ consumer, queue }) => textIn(consumer) ?? textIn(queue),
  "nats-advisory": ({ stream }) => textIn(stream),
  "eventbridge-rule": ({ target }) => textIn(target),
};

function ofHeaders(headers: readonly Header[], { convention, properties }: Origin): string | null {
  // Over HTTP attributes are percent-encoded among the headers, and as they are in the origin.
  if (convention === "cloudevents") return textIn(properties?.source);
  for (const prefix of ATTRIBUTE_PREFIXES) {
    const found = headers.find(([name]) => name.toLowerCase() === `${prefix}source`);
    const text = found && headerText(found);
    if (text) return text;
  }
  return null;
}
