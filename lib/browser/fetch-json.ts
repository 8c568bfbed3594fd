import type { FieldError, ProblemCode } from "@/lib/core/problem";
import { actorHeader } from "./actor";

/** `offline`, `no-answer` and `unexpected-answer` are ours: no server said them. */
export type ApiErrorCode = ProblemCode | "offline" | "no-answer" | "unexpected-answer";

/** Longer than the server lets any read take. */
const READ_TIMEOUT_MS = 20_000;
/** A change of a hundred thousand events in one request takes this long on a slow store. */
const WRITE_TIMEOUT_MS = 120_000;

/** What an API call failed with: the server's problem (RFC 9457), or that there was none. */
export class ApiError extends Error {
  readonly code: ApiErrorCode;
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  readonly fields: FieldError[];
  /** When the server wants to be asked again; null = it did not say. */
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

  /** Whether the same call may succeed a little later, without anybody changing anything. */
  get passing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export type JsonRequest = {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** A POST that only asks, as a preview does: its timeout is that of a read, and nothing can have been done by it. */
  reads?: boolean;
  /** How long the whole answer may take. */
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

/** Ours says seconds. */
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
 * Calls our own API and returns its JSON. Throws `ApiError` for a problem, for a missing network and for an answer that
 * does not come in time; an abort by the caller's signal stays an `AbortError`. The answer is trusted: the server
 * serialised it from the same contract.
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
