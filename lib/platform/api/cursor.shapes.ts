import * as z from "zod/mini";
import { type EventFilter, toSearchParams } from "@/lib/events/filter/event-filter.shapes";
import { hash64 } from "@/lib/platform/plain/hash.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Where a page of events starts: behind the event `id`, on the side of older or newer ones. */
export type EventCursor = { id: string; towards: "older" | "newer" };

const cursorSchema = z.strictObject({
  v: z.literal(1),
  id: z.uuid(),
  t: z.enum(["o", "n"]),
  f: z.string(),
});

/** Opaque to clients. Holds the filter's hash: a cursor of one list does not silently page through another. */
export function encodeCursor(cursor: EventCursor, filter: EventFilter): string {
  const content = { v: 1, id: cursor.id, t: cursor.towards === "older" ? "o" : "n", f: filterHash(filter) };
  return Buffer.from(JSON.stringify(content)).toString("base64url");
}

/** Throws DomainError `invalid-cursor`. */
export function decodeCursor(text: string, filter: EventFilter): EventCursor {
  const parsed = cursorSchema.safeParse(parseJson(text));
  if (!parsed.success) throw invalid("is not one this console gave out");
  if (parsed.data.f !== filterHash(filter)) throw invalid("belongs to another filter");
  return { id: parsed.data.id, towards: parsed.data.t === "o" ? "older" : "newer" };
}

function filterHash(filter: EventFilter): string {
  return hash64(toSearchParams(filter).toString());
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
