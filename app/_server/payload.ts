import type { StoredPayload } from "@/lib/events/detail/event-detail.read";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

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

/**
 * Why the viewer asks for what is masked: the parameter `reason`, or the header `x-reason` in a command line. Throws DomainError
 * `forbidden`, `reason-required`.
 */
export function revealReason(request: Request, viewer: Viewer, asked: string | null): string {
  assertMay(viewer, "reveal");
  const reason = (asked ?? request.headers.get("x-reason") ?? "").trim();
  if (reason !== "") return reason.slice(0, REASON_MAX);
  throw new DomainError(
    "reason-required",
    "This reveals masked values: give a reason with ?reason= (recorded in the audit log), or read the event with its values masked",
    { fields: [{ field: "reason", detail: "is missing" }] },
  );
}

const REASON_MAX = 2_000;
