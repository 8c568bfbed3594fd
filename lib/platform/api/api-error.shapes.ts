import type { FieldError, ProblemCode } from "@/lib/platform/plain/problem.pure";

/** A client itself sets `offline`, `no-answer` and `unexpected-answer`; no server sends them. */
export type ApiErrorCode = ProblemCode | "offline" | "no-answer" | "unexpected-answer";

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

export async function problemOf(response: Response): Promise<ApiError> {
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
