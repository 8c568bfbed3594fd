import * as z from "zod/mini";
import { hash64 } from "@/lib/platform/plain/hash.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type EventFilter, toSearchParams } from "@/lib/selection/filter/event-filter.shapes";

/**
 * Where a page of events starts: after the event `id`, towards the next page (`older`) or the previous one (`newer`).
 * `failedUs`: its time of failure, in a list sorted by it.
 */
export type EventCursor = { id: string; towards: "older" | "newer"; failedUs?: string | null | undefined };

const cursorSchema = z.strictObject({
  v: z.literal(1),
  id: z.uuid(),
  t: z.enum(["o", "n"]),
  f: z.string(),
  u: z.optional(z.nullable(z.string().check(z.regex(/^-?\d{1,18}$/)))),
});

/** Opaque to clients. Contains the hash of the filter and the order, so that a cursor of one list cannot page through another. */
export function encodeCursor(cursor: EventCursor, filter: EventFilter, sort: string | null = null): string {
  const { id, towards, failedUs } = cursor;
  const content = { v: 1, id, t: towards === "older" ? "o" : "n", f: listHash(filter, sort), u: failedUs };
  return Buffer.from(JSON.stringify(content)).toString("base64url");
}

/** Throws DomainError `invalid-cursor`. */
export function decodeCursor(text: string, filter: EventFilter, sort: string | null = null): EventCursor {
  const parsed = cursorSchema.safeParse(parseJson(text));
  if (!parsed.success) throw invalid("was not issued by this console");
  const { id, t, f, u } = parsed.data;
  if (f !== listHash(filter, sort)) throw invalid("belongs to another filter or order");
  return { id, towards: t === "o" ? "older" : "newer", ...(u === undefined ? {} : { failedUs: u }) };
}

function listHash(filter: EventFilter, sort: string | null): string {
  const params = toSearchParams(filter);
  if (sort !== null) params.set("sort", sort);
  return hash64(params.toString());
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
  } catch {
    return null;
  }
}

function invalid(detail: string): DomainError {
  return new DomainError("invalid-cursor", `The cursor ${detail}: start again without it`, {
    fields: [{ field: "cursor", detail }],
  });
}
