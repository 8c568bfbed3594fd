import { actorHeader } from "@/lib/guard/viewer/actor.browser";
import { ApiError, problemOf } from "@/lib/platform/api/api-error.shapes";
import { randomKey } from "./random-key.browser";

/** Longer than any read may take on the server. */
const READ_TIMEOUT_MS = 20_000;
/** One request that changes 100,000 events takes up to this time on a slow store. */
const WRITE_TIMEOUT_MS = 120_000;

export type JsonRequest = {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** For a POST that changes nothing, as a preview: its timeout is the timeout of a read. */
  reads?: boolean;
  /** For a POST that takes an Idempotency-Key: after a lost answer the same request again does nothing twice. */
  once?: boolean;
  /** The limit for the whole answer. */
  timeoutMs?: number;
};

/** After this time the same request is a new one: a test message that somebody sends again must be sent. */
const REPEAT_MS_MAX = 60_000;

/** The last unanswered request of each path: the same request soon after is a retry, with the same key. */
const unanswered = new Map<string, { body: string; key: string; sentAtMs: number }>();

function keyOf(path: string, body: string): string {
  const known = unanswered.get(path);
  const repeats = known?.body === body && performance.now() - known.sentAtMs < REPEAT_MS_MAX;
  const key = repeats ? known.key : randomKey();
  unanswered.set(path, { body, key, sentAtMs: performance.now() });
  return key;
}

function notAnswered(cause: unknown, write: boolean, timeoutMs: number): unknown {
  if (cause instanceof ApiError) return cause;
  if (cause instanceof DOMException && cause.name === "AbortError") return cause;
  if (cause instanceof DOMException && cause.name === "TimeoutError") {
    const waited = `Parkade did not answer within ${Math.round(timeoutMs / 1_000)} seconds.`;
    const detail = write ? `${waited} Your request may have been carried out: check before you repeat it.` : waited;
    return new ApiError("no-answer", detail, { cause });
  }
  if (cause instanceof SyntaxError) {
    return new ApiError("unexpected-answer", "The server's answer could not be read.", { cause });
  }
  const detail =
    navigator.onLine !== false
      ? "Parkade does not answer. Check that its web process runs."
      : "This browser is offline. The page updates when the network is back.";
  return new ApiError("offline", detail, { cause });
}

/** A message in the corner has the role of a dialog, too, but says that it is not modal. */
const OPEN_DIALOG = ":is([role='dialog'], [role='alertdialog']):not([aria-modal='false'])";

/**
 * The session has ended: the person signs in, and comes back to where it was. An open dialog may hold what was typed, and is not left: its
 * own request shows the problem, and the person signs in in another tab or closes it.
 */
function goToSignIn(): void {
  if (document.querySelector(OPEN_DIALOG) !== null) return;
  const { pathname, search } = window.location;
  if (!pathname.startsWith("/sign-in")) window.location.assign(`/sign-in?to=${encodeURIComponent(pathname + search)}`);
}

/** The page leads back to where the person was. */
function goToSecondFactor(): void {
  const { pathname, search } = window.location;
  const page = "/sign-in/second-factor";
  if (pathname !== page) window.location.assign(`${page}?to=${encodeURIComponent(pathname + search)}`);
}

/**
 * Calls the API and returns its JSON. Throws `ApiError` for a problem, for a missing network and for a timeout; an
 * abort by the caller's signal stays an `AbortError`. The answer is not checked: the server serialises it from the same
 * contract.
 */
export async function fetchJson<Answer>(path: string, request: JsonRequest = {}): Promise<Answer> {
  const actor = actorHeader();
  const method = request.method ?? "GET";
  const write = method !== "GET" && request.reads !== true;
  const timeoutMs = request.timeoutMs ?? (write ? WRITE_TIMEOUT_MS : READ_TIMEOUT_MS);
  const timeout = AbortSignal.timeout(timeoutMs);
  const body = request.body === undefined ? null : JSON.stringify(request.body);
  try {
    const response = await fetch(path, {
      method,
      headers: {
        accept: "application/json",
        ...(body === null ? {} : { "content-type": "application/json" }),
        ...(actor === null ? {} : { "x-actor": actor }),
        ...(request.once ? { "idempotency-key": keyOf(path, body ?? "") } : {}),
        ...request.headers,
      },
      body,
      signal: request.signal ? AbortSignal.any([request.signal, timeout]) : timeout,
    });
    if (!response.ok) {
      const problem = await problemOf(response);
      if (problem.code === "unauthenticated") goToSignIn();
      if (problem.code === "second-factor-needed") goToSecondFactor();
      throw problem;
    }
    const answer = response.status === 204 ? undefined : await response.json();
    if (request.once) unanswered.delete(path);
    return answer as Answer;
  } catch (cause) {
    throw notAnswered(cause, write, timeoutMs);
  }
}
