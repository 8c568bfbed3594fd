/**
 * Every error that the API or the console shows, by stable code. `app/_server/problem.ts` maps each code to an HTTP
 * status in one complete record, so a new code without a status fails to compile.
 */
export const PROBLEM_CODES = [
  "invalid-request",
  "invalid-json",
  "invalid-utf8",
  "invalid-filter",
  "unsupported-filter",
  "invalid-window",
  "invalid-cursor",
  "invalid-cloudevent",
  "invalid-config",
  "payload-too-large",
  "too-many-headers",
  "too-many-events",
  "too-many-refusals",
  "too-busy",
  "store-full",
  "too-many-requests",
  "unsupported-media-type",
  "unknown-source",
  "unknown-event",
  "unknown-redrive",
  "unknown-control",
  "unknown-forget",
  "unknown-rule",
  "unknown-schema",
  "unknown-redrive-rule",
  "unknown-target",
  "unknown-policy",
  "unknown-view",
  "unknown-audit-entry",
  "unknown-audit-verification",
  "unknown-operation",
  "unknown-recipe",
  "unknown-alert",
  "unknown-alert-rule",
  "unknown-channel",
  "channel-not-found",
  "unknown-maintenance",
  "unknown-group",
  "unknown-mute",
  "unknown-marker",
  "unknown-mask-rule",
  "reason-required",
  "invalid-mask-rule",
  "invalid-recipe",
  "would-change-nothing",
  "above-ceiling",
  "unknown-revision",
  "unknown-approval",
  "unknown-lane",
  "unknown-route",
  "method-not-allowed",
  "empty-selection",
  "name-taken",
  "illegal-transition",
  "event-queued",
  "stale-revision",
  "stale-settings",
  "same-bytes",
  "masked-value",
  "payload-broken",
  "not-tried",
  "approval-outdated",
  "idempotency-key-missing",
  "idempotency-key-reused",
  "idempotency-key-in-progress",
  "source-in-use",
  "target-in-use",
  "read-timeout",
  "events-busy",
  "store-unavailable",
  "queue-unavailable",
  "broker-unreachable",
  "archive-refused",
  "archive-unavailable",
  "archive-unreadable",
  "not-local",
  "not-signed",
  "unauthenticated",
  "sign-in-failed",
  "code-required",
  "second-factor-needed",
  "proof-failed",
  "invalid-password",
  "invalid-name",
  "invalid-account",
  "stale-account",
  "last-admin",
  "unknown-account",
  "unknown-session",
  "unknown-link",
  "unknown-device-sign-in",
  "unknown-token",
  "invalid-token",
  "forbidden",
  "internal",
] as const;

export type ProblemCode = (typeof PROBLEM_CODES)[number];

/**
 * One wrong field, and how to correct it. `field` is a JSON path (`events[3].eventId`) or the name of a query
 * parameter.
 */
export type FieldError = { field: string; detail: string };

const DOMAIN_ERROR = "DomainError";

/**
 * An error whose text a person reads. `message` is public and names the fix; `internal` is for the log only and never
 * reaches a client.
 */
export class DomainError extends Error {
  readonly code: ProblemCode;
  readonly fields: FieldError[];
  readonly internal: unknown;
  /** When the same request may succeed; null = the default of the code applies. */
  readonly retryAfterMs: number | null;
  /** Header fields of the answer. */
  readonly headers: Readonly<Record<string, string>>;

  /**
   * Compared by name: the web process loads this class twice, in the bundle of its routes and in Next's bundle of its
   * pages, and both use one store.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === DOMAIN_ERROR;
  }

  constructor(
    code: ProblemCode,
    publicMessage: string,
    options: {
      fields?: FieldError[];
      internal?: unknown;
      retryAfterMs?: number;
      headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(publicMessage, options.internal instanceof Error ? { cause: options.internal } : undefined);
    this.name = DOMAIN_ERROR;
    this.code = code;
    this.fields = options.fields ?? [];
    this.internal = options.internal;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.headers = options.headers ?? {};
  }
}

/** Says every wrong field in one sentence, and each by itself. */
export function invalidFields(fields: FieldError[], code: ProblemCode = "invalid-request"): DomainError {
  return new DomainError(code, fields.map(({ field, detail }) => `${field}: ${detail}`).join("; "), { fields });
}
