import { type Link, ROOT_CONTEXT, type SpanContext, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { atMost, type Clock } from "@/lib/platform/clock";
import type { Log } from "@/lib/platform/log";
import type { Span, Tracer } from "@/lib/platform/tracing/spans";
import type { SpanIds } from "@/lib/platform/tracing/traceparent.pure";
import type { TracingSettings } from "@/lib/platform/tracing/tracing-settings";

/** Ended spans that wait to be sent; above it new ones are dropped. About 10 MB. */
const QUEUED_MAX = 8_192;
/** A collector takes a batch of these in milliseconds. */
const BATCH_MAX = 512;
const BATCH_EVERY_MS = 1_000;
/** A collector that is silent holds one batch this long. */
const EXPORT_MS_MAX = 10_000;
/** What a process that stops waits for its last spans. */
const FLUSH_MS_MAX = 3_000;
/** A collector that is down would fail every batch. */
const REPORT_EVERY_MS = 60_000;
/** Ids come from outside and may be long. */
const VALUE_CHARACTERS_MAX = 256;

const KINDS = {
  server: SpanKind.SERVER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
  producer: SpanKind.PRODUCER,
} as const;

/** Records spans and sends them to a collector in OTLP over HTTP. Nothing of it throws into the work that it records. */
export function createOtlpTracer(
  settings: TracingSettings,
  { process, log, clock }: { process: string; log: Log; clock: Clock },
): Tracer {
  const exporter = new OTLPTraceExporter({ url: settings.url, timeoutMillis: EXPORT_MS_MAX });
  const sampler = new TraceIdRatioBasedSampler(settings.ratio);
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": `parkade-${process}` }))
      .merge(detectResources({ detectors: [envDetector] }))
      .merge(resourceFromAttributes(settings.serviceName === null ? {} : { "service.name": settings.serviceName }))
      .merge(resourceFromAttributes({ "parkade.process": process })),
    sampler: settings.parentBased ? new ParentBasedSampler({ root: sampler }) : sampler,
    spanLimits: { attributeValueLengthLimit: VALUE_CHARACTERS_MAX },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reporting(exporter, { log, clock, address: new URL(settings.url).host }),
        maxQueueSize: QUEUED_MAX,
        maxExportBatchSize: BATCH_MAX,
        scheduledDelayMillis: BATCH_EVERY_MS,
        exportTimeoutMillis: EXPORT_MS_MAX,
      }),
    ],
  });
  const otel = provider.getTracer("parkade");
  return {
    start: (name, { kind, attributes, links = [] }, parent) => {
      const context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, contextOf(parent));
      const linked = links.map(({ to, attributes }): Link => ({ context: contextOf(to), attributes }));
      return asSpan(otel.startSpan(name, { kind: KINDS[kind], attributes, links: linked }, context));
    },
    close: async () => {
      await atMost(
        clock,
        FLUSH_MS_MAX,
        provider.shutdown().catch(() => undefined), // the exporter has reported it
      );
    },
  };
}

function contextOf({ traceId, spanId, sampled }: SpanIds): SpanContext {
  return { traceId, spanId, traceFlags: sampled ? 1 : 0, isRemote: true };
}

function asSpan(span: ReturnType<ReturnType<TracerProvider["getTracer"]>["startSpan"]>): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    ids: { traceId, spanId, sampled: (traceFlags & 1) === 1 },
    children: 0,
    set: (attributes) => {
      span.setAttributes(attributes);
    },
    fail: (reason) => {
      span.setStatus({ code: SpanStatusCode.ERROR, message: reason });
    },
    end: () => span.end(),
  };
}

/** The log says once a minute how many spans were lost, and why. */
function reporting(
  exporter: OTLPTraceExporter,
  { log, clock, address }: { log: Log; clock: Clock; address: string },
): SpanExporter {
  let lost = 0;
  let reportedMs = Number.NEGATIVE_INFINITY;
  const report = (spans: number, error: Error | undefined) => {
    lost += spans;
    const nowMs = clock.nowMs();
    if (nowMs - reportedMs < REPORT_EVERY_MS) return;
    const { code } = (error ?? {}) as { code?: string | number };
    log.warn(
      { spans: lost, collector: address, code, reason: error?.message.slice(0, 200) },
      "spans were not delivered",
    );
    reportedMs = nowMs;
    lost = 0;
  };
  return {
    export: (spans: ReadableSpan[], done) =>
      exporter.export(spans, (result) => {
        if (result.code !== 0) report(spans.length, result.error);
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
}
