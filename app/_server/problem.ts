import type { Problem } from "@/lib/platform/api/problem.shapes";
import { DomainError, type ProblemCode } from "@/lib/platform/plain/problem.pure";

/** Complete on purpose: a new code that has no status and no title here does not compile. */
export const PROBLEMS: Record<ProblemCode, readonly [status: number, title: string]> = {
  "invalid-request": [400, "The request is not valid"],
  "invalid-json": [400, "The body is not JSON"],
  "invalid-utf8": [400, "The body is not UTF-8"],
  "invalid-filter": [400, "The filter is not valid"],
  "unsupported-filter": [422, "The filter cannot be used here"],
  "invalid-window": [422, "The window is not valid"],
  "invalid-cursor": [422, "The cursor is not valid"],
  "invalid-cloudevent": [400, "The CloudEvent is not valid"],
  "invalid-config": [422, "The configuration is not valid"],
  "payload-too-large": [413, "The payload is too large"],
  "too-many-headers": [422, "The event has too many headers"],
  "too-many-events": [413, "The request has too many events"],
  "too-many-refusals": [422, "Too many events in a row were refused"],
  "too-busy": [503, "Too many large requests are being stored"],
  "store-full": [503, "There is no space left for events"],
  "too-many-requests": [429, "Too many requests"],
  "unsupported-media-type": [415, "The content type is not supported"],
  "unknown-source": [404, "Source not found"],
  "unknown-event": [404, "Event not found"],
  "unknown-redrive": [404, "Redrive not found"],
  "unknown-control": [404, "Control not found"],
  "unknown-forget": [404, "Forget request not found"],
  "unknown-rule": [404, "Admission rule not found"],
  "unknown-schema": [404, "Schema not found"],
  "unknown-redrive-rule": [404, "Redrive rule not found"],
  "unknown-target": [404, "Target not found"],
  "unknown-policy": [404, "Policy not found"],
  "unknown-view": [404, "Saved view not found"],
  "unknown-audit-entry": [404, "Audit entry not found"],
  "unknown-audit-verification": [404, "Audit check not found"],
  "unknown-operation": [404, "Bulk operation not found"],
  "unknown-recipe": [404, "Recipe not found"],
  "unknown-alert": [404, "Alert not found"],
  "unknown-alert-rule": [404, "Alert rule not found"],
  "unknown-channel": [404, "Channel not found"],
  "channel-not-found": [422, "Channel to notify not found"],
  "unknown-maintenance": [404, "Maintenance window not found"],
  "unknown-group": [404, "Group not found"],
  "unknown-mute": [404, "Group mute not found"],
  "unknown-marker": [404, "Marker not found"],
  "reason-required": [422, "Masked values are revealed only with a reason"],
  "unknown-mask-rule": [404, "Mask rule not found"],
  "invalid-mask-rule": [422, "The mask rule is not valid"],
  "invalid-recipe": [422, "The recipe cannot be used"],
  "would-change-nothing": [422, "The recipe would change nothing"],
  "above-ceiling": [422, "The value is above what the targets accept"],
  "unknown-revision": [404, "Revision not found"],
  "unknown-approval": [404, "Approval not found"],
  "unknown-lane": [400, "Lane not found"],
  "unknown-route": [404, "Route not found"],
  "method-not-allowed": [405, "Method not allowed"],
  "empty-selection": [422, "Nothing is selected"],
  "name-taken": [409, "The name is taken"],
  "illegal-transition": [409, "Not possible in this state"],
  "event-queued": [409, "The event is in a redrive"],
  "stale-revision": [409, "The event's current revision has changed"],
  "stale-settings": [409, "The settings have changed since you loaded them"],
  "same-bytes": [422, "Nothing would change"],
  "masked-value": [422, "A mask cannot be stored"],
  "payload-broken": [422, "The payload would not be sent"],
  "not-tried": [409, "This version of the rule has not been tested"],
  "approval-outdated": [409, "What was to be approved has changed"],
  "idempotency-key-missing": [400, "The Idempotency-Key is missing"],
  "idempotency-key-reused": [422, "The Idempotency-Key was used for another request"],
  "idempotency-key-in-progress": [409, "The first request with this Idempotency-Key is still running"],
  "source-in-use": [409, "The source is in use"],
  "target-in-use": [409, "The target is in use"],
  "read-timeout": [503, "The store took too long"],
  "events-busy": [503, "The events are being changed by other requests"],
  "store-unavailable": [503, "The store cannot be reached"],
  "queue-unavailable": [503, "The queue cannot be reached"],
  "broker-unreachable": [502, "The broker cannot be reached"],
  "archive-refused": [409, "The object is already in the archive"],
  "archive-unavailable": [503, "The archive cannot be used"],
  "archive-unreadable": [503, "An archive object cannot be opened"],
  "not-local": [403, "The request did not come from this console"],
  "not-signed": [401, "The request is not signed"],
  unauthenticated: [401, "You are not signed in"],
  "sign-in-failed": [401, "The sign-in failed"],
  "code-required": [401, "A code is needed"],
  "second-factor-needed": [403, "A second factor is needed"],
  "proof-failed": [422, "The password or code is wrong"],
  "invalid-password": [422, "The password is not acceptable"],
  "invalid-name": [422, "The name is not allowed"],
  "invalid-account": [422, "The account is not valid"],
  "stale-account": [409, "The account has changed since you loaded it"],
  "last-admin": [409, "The last administrator cannot be removed"],
  "unknown-account": [404, "Account not found"],
  "unknown-session": [404, "Session not found"],
  "unknown-token": [404, "Token not found"],
  "invalid-token": [422, "The token would have more permissions than its account"],
  "unknown-link": [404, "The link is not valid"],
  "unknown-device-sign-in": [404, "Program sign-in not found"],
  forbidden: [403, "You do not have permission to do this"],
  internal: [500, "Something went wrong inside Parkade"],
};

/** Seconds after which the same request may succeed, by code. */
const RETRY_AFTER_S: Partial<Record<ProblemCode, number>> = {
  "too-busy": 1,
  "store-full": 15,
  "read-timeout": 5,
  "events-busy": 1,
  "store-unavailable": 5,
  "queue-unavailable": 5,
  "archive-unavailable": 30,
  "idempotency-key-in-progress": 1,
};

export function problemResponse(error: DomainError, requestId: string): Response {
  const [status, title] = PROBLEMS[error.code];
  const problem: Problem = {
    type: `urn:parkade:problem:${error.code}`,
    title,
    status,
    code: error.code,
    detail: error.message,
    instance: `urn:uuid:${requestId}`,
    ...(error.fields.length > 0 ? { errors: error.fields } : {}),
  };
  const body = JSON.stringify(problem);
  const headers = new Headers({
    ...error.headers,
    "content-type": "application/problem+json",
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
  });
  const retryAfter = error.retryAfterMs === null ? RETRY_AFTER_S[error.code] : Math.ceil(error.retryAfterMs / 1000);
  if (retryAfter !== undefined) headers.set("retry-after", String(retryAfter));
  return new Response(body, { status, headers });
}

/** An unknown error becomes `internal` without its text. */
export function toDomainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  return new DomainError("internal", "The log has the details under the id in `instance`", { internal: error });
}
