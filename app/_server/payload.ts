import type { StoredPayload } from "@/lib/events/detail/event-detail.read";

/**
 * The exact bytes. They come from anywhere and are served from the console's own origin, so a browser must neither
 * show nor guess them: it saves a file.
 */
export function payloadResponse({ eventId, contentType, payload }: StoredPayload): Response {
  const name = eventId.replace(/[^\w.-]+/g, "_").slice(0, 100);
  return new Response(new Uint8Array(payload), {
    headers: {
      "content-type": /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(;[\x20-\x7e]*)?$/.test(contentType)
        ? contentType
        : "application/octet-stream",
      "content-length": String(payload.byteLength),
      "content-disposition": `attachment; filename="${name}"`,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    },
  });
}
