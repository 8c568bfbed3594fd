import type { Deps } from "@/app/_server/deps";
import { ADDRESS_HEADER } from "@/app/_server/viewer";
import type { ParkAnswer } from "@/lib/events/events.shapes";
import { assertMay, may, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { type Arrival, type Rejection, readOrReject, shortRejection } from "@/lib/intake/arrival.shapes";
import { PARK_BATCH_MAX, type ParkOutcome, parkEvents } from "@/lib/intake/park-events";
import type { ChangedEvent } from "@/lib/intake/record-known-events";
import type { SourceRules } from "@/lib/intake/source-rules.read";
import { type RestoreOutcome, restoreEvents, type StoredArrival } from "@/lib/keep/restore/restore-events";
import type { Unread } from "@/lib/platform/plain/dead-letter.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { createTurns, type Turns } from "@/lib/platform/turns";
import { mapFacts } from "./map-facts";
import { SignatureGuard } from "./signed-intake";

const STORING_MAX = 2;
/** Bytes of one batch as sent. A request holds STORING_MAX batches that are being stored, and one that is read. */
const BATCH_BYTES_MAX = 2 * 1024 * 1024;
/** The most events of a kind that the answer lists: a million broken lines must not produce a million entries. */
const LISTED_MAX = 1_000;
/** A body with this many refused events in a row holds something else than events: the rest is not read. */
const REFUSED_IN_A_ROW_MAX = 10_000;

type Batch = {
  arrivals: Arrival[];
  indexes: number[];
  /** Bytes of the events in the request, metadata included. */
  bytes: number;
  buffer: Buffer | null;
  bufferUsed: number;
};

type IntakeCall = { deps: Deps; viewer: Viewer; request: Request; requestId: string };
export type IntakeOptions = {
  rules: ReadonlyMap<string, SourceRules>;
  body: Uint8Array | null;
  /** False: headers of the request say which event it is. */
  eventsInBody: boolean;
  streams?: boolean;
};

/**
 * Takes the events of one request in their order and parks them in batches: two are stored while the next is read, so
 * that neither the store nor this process waits for the other.
 */
export class Intake {
  private readonly deps: Deps;
  private readonly viewer: Viewer;
  private batch: Batch;
  private readonly freeBuffers: Buffer[] = [];
  private readonly streams: boolean;
  private storing: Promise<void>[] = [];
  private lastAtMs = 0;
  private index = 0;
  /** As they were when the request came. */
  private readonly rules: ReadonlyMap<string, SourceRules>;
  private readonly guard: SignatureGuard;
  private readonly coversEvents: boolean;
  private readonly turns: Turns;
  private refusedInARow = 0;
  private readonly request: Pick<IntakeCall, "request" | "requestId">;
  /** Events of sources that the viewer may not send to, and the first of these sources. */
  private readonly forbidden = { events: 0, source: "" };
  /** Sources that this request was counted for. */
  private readonly counted = new Set<string>();
  private readonly answer: ParkAnswer = {
    accepted: 0,
    duplicates: 0,
    changed: 0,
    revisions: [],
    bounced: 0,
    dropped: 0,
    unstored: 0,
    rejected: [],
    rejectedTotal: 0,
  };

  /**
   * `streams`: the request is long, and its payloads are copied into reused buffers. A payload that is not copied keeps
   * its whole chunk of the stream in memory until its batch is stored, and garbage collection frees chunks late: they
   * lie outside of the JavaScript heap.
   * `body`: all of it, for the signature; null when it was not kept, which no request with a signature does.
   */
  constructor({ deps, viewer, request, requestId }: IntakeCall, { rules, streams = false, ...signed }: IntakeOptions) {
    this.deps = deps;
    this.viewer = viewer;
    this.request = { request, requestId };
    this.streams = streams;
    this.rules = rules;
    this.guard = new SignatureGuard({ deps, request, viewer }, { rules, body: signed.body });
    this.coversEvents = signed.eventsInBody;
    this.turns = createTurns(deps.clock);
    this.batch = this.newBatch();
  }

  private newBatch(): Batch {
    const buffer = this.streams ? (this.freeBuffers.pop() ?? Buffer.allocUnsafeSlow(BATCH_BYTES_MAX)) : null;
    return { arrivals: [], indexes: [], bytes: 0, buffer, bufferUsed: 0 };
  }

  /**
   * Takes the next event, which has `bytes` in the request; an event that `read` refuses, or of a source that the viewer may not send
   * to, is listed. The caller awaits a returned promise before it takes the next event: another request waits for the processor, or
   * the batch is full and earlier batches are still being stored. Throws DomainError `too-many-refusals`, `forbidden`, and
   * `not-signed` for an event of a source that takes signed requests only.
   */
  take(read: () => Arrival, bytes: number): Promise<void> | undefined {
    const index = this.index++;
    const arrival = readOrReject(read);
    if ("rejection" in arrival) this.refuse(index, arrival.rejection);
    // Of a request that is known by its signature alone, the guard says which sources it is for.
    else if (this.viewer.means !== "signature" && !sees(this.viewer, arrival.source))
      this.forbid(index, arrival.source);
    else {
      this.guard.assertSigned(arrival.source, this.coversEvents);
      this.add(index, arrival, bytes);
    }
    if (this.batch.arrivals.length >= PARK_BATCH_MAX || this.batch.bytes >= BATCH_BYTES_MAX) return this.flush();
    return this.turns.due() ? this.turns.give() : undefined;
  }

  private add(index: number, arrival: Arrival, bytes: number): void {
    this.refusedInARow = 0;
    if (arrival.unread) this.noteUnread(index, arrival.unread);
    this.copyPayload(arrival);
    this.batch.arrivals.push(arrival);
    this.batch.indexes.push(index);
    this.batch.bytes += bytes;
  }

  private noteUnread(index: number, { failedAt }: Unread): void {
    this.answer.unread ??= [];
    if (this.answer.unread.length >= LISTED_MAX) return;
    const detail = `${JSON.stringify(failedAt)} is not a valid time: send ISO 8601, or seconds or milliseconds since 1970`;
    this.answer.unread.push({ index, field: "failedAt", detail });
  }

  /** Says the same of a source that does not exist. */
  private forbid(index: number, source: string): void {
    if (this.forbidden.events++ === 0) this.forbidden.source = source;
    this.refuse(index, mayNotSend(this.viewer.name, source));
  }

  private assertSomeAllowed(): void {
    const { events, source } = this.forbidden;
    if (events > 0 && events === this.index) assertMay(this.viewer, "ingest", [source]);
  }

  /** The request is answered with 202: no other line of the log says that somebody tried this. */
  private logForbidden(): void {
    if (this.forbidden.events === 0) return;
    const { request, requestId } = this.request;
    const { name, account } = this.viewer;
    const who = { viewer: name, account, address: request.headers.get(ADDRESS_HEADER) };
    this.deps.log.warn({ requestId, code: "forbidden", ...who, ...this.forbidden }, "events refused");
  }

  private refuse(index: number, rejection: Rejection): void {
    this.reject(index, rejection);
    this.refusedInARow++;
    if (this.refusedInARow < REFUSED_IN_A_ROW_MAX) return;
    this.assertSomeAllowed();
    throw new DomainError(
      "too-many-refusals",
      `${REFUSED_IN_A_ROW_MAX} events in a row were refused, so the rest was not read. The last refusal: ${rejection.detail}`,
      { fields: this.answer.rejected.slice(0, 10).map(({ index: at, detail }) => ({ field: `[${at}]`, detail })) },
    );
  }

  /** Stores the last batch and answers the counts. Throws DomainError `forbidden` when the viewer may send none of the events. */
  async finish(): Promise<ParkAnswer> {
    this.assertSomeAllowed();
    await this.flush();
    await Promise.all(this.storing);
    this.logForbidden();
    for (const listed of [this.answer.rejected, this.answer.revisions]) listed.sort((a, b) => a.index - b.index);
    return this.answer;
  }

  /** The error of a stream that broke off, with the number of events that were stored before. They stay stored. */
  async interrupted(error: unknown): Promise<unknown> {
    // A batch that failed caused `error`, or failed later.
    await Promise.allSettled(this.storing);
    if (this.forbidden.events < this.index) this.logForbidden();
    const stored = this.answer.accepted + this.answer.bounced + this.answer.duplicates + this.answer.changed;
    if (!(error instanceof DomainError) || stored === 0) return error;
    const detail = `${error.message}. ${stored} events were already stored: if you send them again, they count as duplicates`;
    const { fields, internal, headers, retryAfterMs } = error;
    return new DomainError(error.code, detail, { fields, internal, headers, retryAfterMs: retryAfterMs ?? undefined });
  }

  private async flush(): Promise<void> {
    // A batch that failed stays first in `storing`, so that each later flush rejects too.
    while (this.storing.length >= STORING_MAX) {
      await this.storing[0];
      this.storing.shift();
    }
    if (this.batch.arrivals.length === 0) return;
    const batch = this.batch;
    this.batch = this.newBatch();
    const stored = this.store(batch);
    this.storing.push(stored);
    // The next flush rejects with this failure. Until then Node must not report an unhandled rejection.
    stored.catch(() => undefined);
  }

  private async store(batch: Batch): Promise<void> {
    this.countSources(batch);
    const arrivals: Arrival[] = [];
    const exported: StoredArrival[] = [];
    const [places, exportedPlaces]: [number[], number[]] = [[], []];
    const turns = createTurns(this.deps.clock);
    for (const [place, arrival] of batch.arrivals.entries()) {
      const { source, letter, stored } = arrival;
      if (stored && !may(this.viewer, "restore")) {
        this.reject(batch.indexes[place]!, mayNotRestore(this.viewer.name));
        continue;
      }
      if (stored) {
        exported.push({ source, letter, stored });
        exportedPlaces.push(place);
        continue;
      }
      const mapping = this.rules.get(source)?.mapping;
      arrivals.push(mapping ? { source, letter: mapFacts(letter, mapping) } : arrival);
      places.push(place);
      if (turns.due()) await turns.give();
    }
    // Ids keep the order of the request, whichever batch is committed first.
    this.lastAtMs = Math.max(this.deps.clock.wallMs(), this.lastAtMs + 1);
    const parked = await parkEvents(this.deps, arrivals, this.viewer, { atMs: this.lastAtMs });
    parked.forEach((outcome, index) => {
      this.count(batch, places[index]!, outcome);
    });
    const restored = exported.length > 0 ? await restoreEvents(this.deps, exported, this.viewer) : [];
    restored.forEach((outcome, index) => {
      this.count(batch, exportedPlaces[index]!, outcome);
    });
    if (batch.buffer) this.freeBuffers.push(batch.buffer);
  }

  private countSources({ arrivals }: Batch): void {
    for (const { source } of arrivals) {
      if (this.counted.has(source)) continue;
      this.counted.add(source);
      this.deps.limits.takeSource(source, this.deps.clock.nowMs());
    }
  }

  /** Copies the payload into the buffer of the batch. A payload that does not fit stays in its chunk of the stream. */
  private copyPayload({ letter }: Arrival): void {
    const { buffer, bufferUsed } = this.batch;
    const end = bufferUsed + letter.payload.byteLength;
    if (buffer === null || end > buffer.length) return;
    buffer.set(letter.payload, bufferUsed);
    letter.payload = buffer.subarray(bufferUsed, end);
    this.batch.bufferUsed = end;
  }

  private count(batch: Batch, place: number, outcome: ParkOutcome | RestoreOutcome): void {
    const index = batch.indexes[place]!;
    if (typeof outcome !== "string") {
      if ("rejection" in outcome) this.reject(index, outcome.rejection);
      else this.addRevision(index, outcome);
      return;
    }
    switch (outcome) {
      case "parked":
      case "restored":
        this.answer.accepted++;
        return;
      case "duplicate":
        this.answer.duplicates++;
        return;
      case "bounced":
        this.answer.bounced++;
        return;
      case "dropped":
        this.answer.dropped++;
        return;
      case "unstored":
        this.answer.unstored++;
        return;
      case "unknown-source":
        this.reject(index, unknownSource(batch.arrivals[place]!.source));
        return;
      case "rejected":
        this.reject(index, refusedByStore(batch.arrivals[place]!.letter.eventId));
    }
  }

  private addRevision(index: number, { id, revision, current }: ChangedEvent): void {
    this.answer.changed++;
    if (this.answer.revisions.length < LISTED_MAX) this.answer.revisions.push({ index, id, revision, current });
  }

  private reject(index: number, rejection: Rejection): void {
    this.answer.rejectedTotal++;
    if (this.answer.rejected.length >= LISTED_MAX) return;
    this.answer.rejected.push({ index, ...shortRejection(rejection) });
  }
}

function mayNotSend(name: string, source: string): Rejection {
  return {
    code: "forbidden",
    field: "source",
    detail: `${name} may not ingest for source ${JSON.stringify(source)}: ask an administrator`,
  };
}

function mayNotRestore(name: string): Rejection {
  return {
    code: "forbidden",
    field: "stored",
    detail: `${name} may not restore events: ask an administrator, or leave stored out to park it as a new event`,
  };
}

function refusedByStore(eventId: string): Rejection {
  return {
    code: "invalid-request",
    field: "eventId",
    detail: `The database rejected a value of event ${JSON.stringify(eventId)}; the events around it are stored. Send this one again with other values`,
  };
}

function unknownSource(source: string): Rejection {
  return {
    code: "unknown-source",
    field: "source",
    detail: `There is no source ${JSON.stringify(source)}: create it, or name an existing source`,
  };
}
