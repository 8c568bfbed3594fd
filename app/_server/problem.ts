import * as z from "zod/mini";
import type { Problem } from "@/lib/platform/api/problem.shapes";
import { DomainError, type FieldError, invalidFields, type ProblemCode } from "@/lib/platform/plain/problem.pure";

/** Complete on purpose: a new code that has no status here does not compile. */
export const STATUS: Record<ProblemCode, number> = {
  "invalid-request": 400,
  "invalid-json": 400,
  "invalid-utf8": 400,
  "invalid-filter": 400,
  "invalid-window": 422,
  "invalid-cursor": 422,
  "invalid-cloudevent": 400,
  "invalid-config": 422,
  "payload-too-large": 413,
  "too-many-headers": 422,
  "too-many-events": 413,
  "too-many-refusals": 422,
  "too-busy": 503,
  "too-many-requests": 429,
  "unsupported-media-type": 415,
  "unknown-source": 404,
  "unknown-event": 404,
  "unknown-redrive": 404,
  "unknown-control": 404,
  "unknown-rule": 404,
  "unknown-schema": 404,
  "unknown-redrive-rule": 404,
  "unknown-target": 404,
  "unknown-policy": 404,
  "unknown-view": 404,
  "unknown-audit-entry": 404,
  "unknown-operation": 404,
  "unknown-recipe": 404,
  "invalid-recipe": 422,
  "would-change-nothing": 422,
  "above-ceiling": 422,
  "unknown-revision": 404,
  "unknown-approval": 404,
  "unknown-lane": 400,
  "unknown-route": 404,
  "method-not-allowed": 405,
  "empty-selection": 422,
  "name-taken": 409,
  "illegal-transition": 409,
  "event-queued": 409,
  "stale-revision": 409,
  "same-bytes": 422,
  "masked-value": 422,
  "payload-broken": 422,
  "not-tried": 409,
  "approval-outdated": 409,
  "idempotency-key-missing": 400,
  "idempotency-key-reused": 422,
  "idempotency-key-in-progress": 409,
  "source-in-use": 409,
  "target-in-use": 409,
  "read-timeout": 503,
  "events-busy": 503,
  "store-unavailable": 503,
  "queue-unavailable": 503,
  "broker-unreachable": 502,
  "not-local": 403,
  "not-signed": 401,
  forbidden: 403,
  internal: 500,
};

export const TITLE: Record<ProblemCode, string> = {
  "invalid-request": "The request is not valid",
  "invalid-json": "The body is not JSON",
  "invalid-utf8": "The body is not UTF-8",
  "invalid-filter": "The filter is not valid",
  "invalid-window": "The window is not valid",
  "invalid-cursor": "The cursor is not valid",
  "invalid-cloudevent": "The CloudEvent is not valid",
  "invalid-config": "The configuration is not valid",
  "payload-too-large": "The payload is too large",
  "too-many-headers": "The event has too many headers",
  "too-many-events": "The request has too many events",
  "too-many-refusals": "Too many events in a row were refused",
  "too-busy": "Too much is being stored just now",
  "too-many-requests": "Too many requests",
  "unsupported-media-type": "The content type is not supported",
  "unknown-source": "There is no such source",
  "unknown-event": "There is no such event",
  "unknown-redrive": "There is no such redrive",
  "unknown-control": "There is no such control",
  "unknown-rule": "There is no such rule of admission",
  "unknown-schema": "There is no such schema",
  "unknown-redrive-rule": "There is no such redrive rule",
  "unknown-target": "There is no such target",
  "unknown-policy": "There is no such policy",
  "unknown-view": "There is no such saved view",
  "unknown-audit-entry": "There is no such audit entry",
  "unknown-operation": "There is no such bulk operation",
  "unknown-recipe": "There is no such recipe",
  "invalid-recipe": "The recipe cannot be used",
  "would-change-nothing": "The recipe would change nothing",
  "above-ceiling": "The targets do not take as much",
  "unknown-revision": "There is no such revision",
  "unknown-approval": "There is no such approval",
  "unknown-lane": "There is no such lane",
  "unknown-route": "There is no such route",
  "method-not-allowed": "The method is not answered here",
  "empty-selection": "Nothing is selected",
  "name-taken": "The name is taken",
  "illegal-transition": "Not possible in this state",
  "event-queued": "The event is in a redrive",
  "stale-revision": "The event has another revision by now",
  "same-bytes": "Nothing would change",
  "masked-value": "A masked value cannot be changed",
  "payload-broken": "The payload would not be sent",
  "not-tried": "The rule was not tried as it is",
  "approval-outdated": "What was to be approved has changed",
  "idempotency-key-missing": "The Idempotency-Key is missing",
  "idempotency-key-reused": "The Idempotency-Key was used for another request",
  "idempotency-key-in-progress": "The first request with this Idempotency-Key still runs",
  "source-in-use": "The source is in use",
  "target-in-use": "The target is in use",
  "read-timeout": "The store took too long",
  "events-busy": "The events are busy",
  "store-unavailable": "The store cannot be reached",
  "queue-unavailable": "The queue cannot be reached",
  "broker-unreachable": "The broker cannot be reached",
  "not-local": "The request did not come from this console",
  "not-signed": "The request is not signed",
  forbidden: "This is not allowed to you",
  internal: "Something went wrong inside Parkade",
};

/** Seconds after which the same request may succeed, by code. */
const RETRY_AFTER_S: Partial<Record<ProblemCode, number>> = {
  "too-busy": 1,
  "read-timeout": 5,
  "events-busy": 1,
  "store-unavailable": 5,
  "queue-unavailable": 5,
  "idempotency-key-in-progress": 1,
};

export function problemResponse(error: DomainError, requestId: string): Response {
  const problem: Problem = {
    type: `urn:parkade:problem:${error.code}`,
    title: TITLE[error.code],
    status: STATUS[error.code],
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
  return new Response(body, { status: problem.status, headers });
}

/** A zod error becomes `invalid-request`, an unknown error `internal` without its text. */
export function toDomainError(error: unknown, code: ProblemCode = "invalid-request"): DomainError {
  if (error instanceof DomainError) return error;
  if (error instanceof z.core.$ZodError) return invalidFields(fieldErrors(error.issues), code);
  return new DomainError("internal", "The log has the details under the id in `instance`", { internal: error });
}

/** Longest list of faults one answer repeats: enough to fix a request, too little to amplify one. */
const FAULTS_MAX = 20;

/** One entry for each wrong field; of a union the branch that came closest. */
function fieldErrors(issues: readonly z.core.$ZodIssue[], prefix: PropertyKey[] = []): FieldError[] {
  return issues.flatMap((issue) => fieldError(issue, prefix)).slice(0, FAULTS_MAX);
}

function fieldError(issue: z.core.$ZodIssue, prefix: PropertyKey[]): FieldError[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ field: pathText([...path, key]), detail: "unknown: leave it out" }));
  }
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    const closest = issue.errors.reduce((best, branch) => (distance(branch) < distance(best) ? branch : best));
    if (closest.some((inner) => inner.path.length > 0)) return fieldErrors(closest, path);
  }
  return [{ field: pathText(path), detail: issue.message }];
}

/** A branch whose keys are all known is nearer than one that misses the point; then fewer faults are nearer. */
function distance(branch: readonly z.core.$ZodIssue[]): number {
  const foreign = branch.filter((issue) => issue.code === "unrecognized_keys").length;
  return foreign * 100 + branch.length;
}

function pathText(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "body";
  return path
    .map((part, index) => (typeof part === "number" ? `[${part}]` : `${index > 0 ? "." : ""}${String(part)}`))
    .join("");
}
