import type { FieldError, ProblemCode } from "@/lib/core/problem";
import { actorHeader } from "./actor";

/** The browser itself sets `offline`, `no-answer` and `unexpected-answer`; no server sends them. */
export type ApiErrorCode = ProblemCode | "offline" | "no-answer" | "unexpected-answer";

/** Longer than any read may take on the server. */
const READ_TIMEOUT_MS = 20_000;
/** One request that changes 100,000 events takes up to this time on a slow store. */
const WRITE_TIMEOUT_MS = 120_000;

/** The failure of an API call: the problem of the server (RFC 9457), or the reason why there was no answer. */
export class ApiError extends Error {
  readonly code: ApiErrorCode;
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  readonly fields: FieldError[];
  /** The Retry-After of the server; null without one. */
  readonly retryAfterMs: number | null;

  constructor(
    code: ApiErrorCode,
    detail: string,
    options: { status?: number; fields?: FieldError[]; retryAfterMs?: number | null; cause?: unknown },
  ) {
    super(detail, { cause: options.cause });
    this.name = "ApiError";
    this.code = code;
    this.status = options.status ?? 0;
    this.fields = options.fields ?? [];
    this.retryAfterMs = options.retryAfterMs ?? null;
  }

  get detail(): string {
    return this.message;
  }

  /** Whether the same call may succeed later without a change by a person. */
  get passing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export type JsonRequest = {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** For a POST that changes nothing, as a preview: its timeout is the timeout of a read. */
  reads?: boolean;
  /** The limit for the whole answer. */
  timeoutMs?: number;
};

type Problem = { code?: unknown; detail?: unknown; title?: unknown; errors?: unknown };

function fieldsOf(value: unknown): FieldError[] {
  if (!Array.isArray(value)) return [];
  return value.filter(
    (entry): entry is FieldError =>
      typeof entry === "object" &&
      entry !== null &&
      typeof entry.field === "string" &&
      typeof entry.detail === "string",
  );
}

/** Parkade's API sends seconds, never a date. */
function retryAfterOf(response: Response): number | null {
  const text = response.headers.get("retry-after");
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) * 1000 : null;
}

async function problemOf(response: Response): Promise<ApiError> {
  const type = response.headers.get("content-type") ?? "";
  if (!type.includes("json")) {
    return new ApiError("unexpected-answer", `The server answered ${response.status} without saying why.`, {
      status: response.status,
    });
  }
  const problem = (await response.json()) as Problem;
  const detail = [problem.detail, problem.title].find((text) => typeof text === "string");
  return new ApiError(
    typeof problem.code === "string" ? (problem.code as ProblemCode) : "unexpected-answer",
    typeof detail === "string" ? detail : `The server answered ${response.status}.`,
    { status: response.status, fields: fieldsOf(problem.errors), retryAfterMs: retryAfterOf(response) },
  );
}

function notAnswered(cause: unknown, write: boolean, timeoutMs: number): unknown {
  if (cause instanceof ApiError) return cause;
  if (cause instanceof DOMException && cause.name === "AbortError") return cause;
  if (cause instanceof DOMException && cause.name === "TimeoutError") {
    const waited = `Parkade did not answer within ${Math.round(timeoutMs / 1_000)} seconds.`;
    const detail = write ? `${waited} What you asked for may have been done: look before you repeat it.` : waited;
    return new ApiError("no-answer", detail, { cause });
  }
  if (cause instanceof SyntaxError) {
    return new ApiError("unexpected-answer", "The server's answer could not be read.", { cause });
  }
  const detail =
    navigator.onLine !== false
      ? "Parkade does not answer. Check that its web process runs."
      : "This browser is offline. Parkade is asked again when the network is back.";
  return new ApiError("offline", detail, { cause });
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
  try {
    const response = await fetch(path, {
      method,
      headers: {
        accept: "application/json",
        ...(request.body === undefined ? {} : { "content-type": "application/json" }),
        ...(actor === null ? {} : { "x-actor": actor }),
        ...request.headers,
      },
      body: request.body === undefined ? null : JSON.stringify(request.body),
      signal: request.signal ? AbortSignal.any([request.signal, timeout]) : timeout,
    });
    if (!response.ok) throw await problemOf(response);
    if (response.status === 204) return undefined as Answer;
    return (await response.json()) as Answer;
  } catch (cause) {
    throw notAnswered(cause, write, timeoutMs);
  }
}
