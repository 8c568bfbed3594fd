import { AsyncLocalStorage } from "node:async_hooks";
import { formatTraceparent, type SpanIds } from "@/lib/platform/tracing/traceparent.pure";

/**
 * Spans as the product's code opens them. Without an address for traces there is no tracer: each function here then looks at one
 * field, and no SDK is loaded.
 */
export type SpanFacts = {
  kind: "server" | "consumer" | "internal" | "producer";
  attributes?: Attributes;
  /** The span that caused this one; null = none. Absent = the span in work. */
  parent?: SpanIds | null;
  links?: readonly SpanLink[];
};
type Attributes = Record<string, string | number | boolean | undefined>;
export type SpanLink = { to: SpanIds; attributes?: Attributes };

/** A span that never ends is never exported. */
export type Span = {
  readonly ids: SpanIds;
  /** Spans that were opened while it was the span in work. */
  children: number;
  set(attributes: Attributes): void;
  /** Marks it as failed. `reason` is a code: never a payload, a header or an error's text. */
  fail(reason: string): void;
  end(): void;
};

export type Tracer = {
  start(name: string, facts: SpanFacts, parent: SpanIds | null): Span;
  /** Sends what has ended, for a limited time. */
  close(): Promise<void>;
};

type Tracing = { tracer: Tracer | null; opening: Promise<void> | null; inWork: AsyncLocalStorage<Span> };

// On globalThis: the web process has this file in the bundle of its routes and in that of its pages.
const holder = globalThis as typeof globalThis & { parkadeTracing?: Tracing };
holder.parkadeTracing ??= { tracer: null, opening: null, inWork: new AsyncLocalStorage() };
const tracing = holder.parkadeTracing;

/** Gives this process its tracer; null takes it away. No span is recorded before `opening` resolves, and none if it rejects. */
export function setTracer(opening: Promise<Tracer> | null): void {
  tracing.tracer = null;
  tracing.opening = null;
  if (opening === null) return;
  tracing.opening = opening.then(
    (tracer) => {
      tracing.tracer = tracer;
      tracing.opening = null;
    },
    () => {
      tracing.opening = null;
    },
  );
}

/** Resolves when the tracer can record; null = there is nothing to wait for. */
export function tracerOpening(): Promise<void> | null {
  return tracing.opening;
}

/** Whether spans are recorded: what only a span needs is not put together without. */
export function isTracing(): boolean {
  return tracing.tracer !== null;
}

/** Opens a span; null = there is no tracer. */
export function startSpan(name: string, facts: SpanFacts): Span | null {
  if (tracing.tracer === null) return null;
  if (facts.parent !== undefined) return tracing.tracer.start(name, facts, facts.parent);
  const above = tracing.inWork.getStore();
  if (above !== undefined) above.children++;
  return tracing.tracer.start(name, facts, above?.ids ?? null);
}

/** Does work while `span` is the span in work. */
export function withSpan<T>(span: Span | null, work: () => T): T {
  return span === null ? work() : tracing.inWork.run(span, work);
}

/** Does work in a span of its own, which fails when the work rejects. */
export async function inSpan<T>(name: string, facts: SpanFacts, work: (span: Span | null) => Promise<T>): Promise<T> {
  const span = startSpan(name, facts);
  if (span === null) return work(null);
  try {
    return await withSpan(span, () => work(span));
  } catch (error) {
    span.fail(reasonOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** An error's code or class. Its text may quote a payload. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

function spanInWork(): Span | undefined {
  return tracing.tracer === null ? undefined : tracing.inWork.getStore();
}

/** The `traceparent` for a job that the span in work causes; undefined = there is none. */
export function currentTraceparent(): string | undefined {
  const span = spanInWork();
  return span === undefined ? undefined : formatTraceparent(span.ids);
}

/** The ids that a line of the log has; null = no span is in work. */
export function currentIds(): { traceId: string; spanId: string } | null {
  const span = spanInWork();
  return span === undefined ? null : { traceId: span.ids.traceId, spanId: span.ids.spanId };
}

/** Sends what has ended, for a limited time, and takes the tracer away. */
export async function closeTracer(): Promise<void> {
  await tracing.opening;
  await tracing.tracer?.close();
  tracing.tracer = null;
}
