import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import protobuf from "protobufjs";

/** https://github.com/open-telemetry/opentelemetry-proto, the fields that a test reads. */
const PROTO = `syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  repeated KeyValue attributes = 9; repeated Link links = 13; Status status = 15;
}
message Link { bytes trace_id = 1; bytes span_id = 2; repeated KeyValue attributes = 4; }
message Status { string message = 2; int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }`;

const REQUEST = protobuf.parse(PROTO).root.lookupType("Request");

type Attributes = Record<string, unknown>;

/** A span as it came over the wire; ids in hex, `parentSpanId` empty for the first span of a trace. */
export type ReceivedSpan = {
  service: unknown;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  kind: number;
  attributes: Attributes;
  links: { traceId: string; spanId: string; attributes: Attributes }[];
  failed: string | null;
};

export type OtlpCollector = {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string;
  spans: ReceivedSpan[];
  /** Path and headers of each request. */
  requests: { path: string; authorization: string | undefined }[];
  /** The status of each answer; null = it never answers. */
  answer: number | null;
  stop(): Promise<void>;
};

/** An HTTP server that stands for a collector: it decodes each request by the protocol's own definition. */
export async function startOtlpCollector(): Promise<OtlpCollector> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      collector.requests.push({ path: request.url!, authorization: request.headers.authorization });
      if (collector.answer === null) return;
      const body = Buffer.concat(chunks);
      if (collector.answer === 200)
        collector.spans.push(...decoded(request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body));
      response.writeHead(collector.answer, { "content-type": "application/x-protobuf" }).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const collector: OtlpCollector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    requests: [],
    answer: 200,
    stop: async () => {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
  return collector;
}

type Wire = Record<string, never> & {
  resourceSpans: {
    resource: { attributes: WireAttribute[] };
    scopeSpans: { spans: (Omit<ReceivedSpan, "attributes" | "links"> & WireSpan)[] }[];
  }[];
};
type WireAttribute = { key: string; value: Record<string, unknown> };
type WireSpan = {
  attributes: WireAttribute[];
  links: { traceId: string; spanId: string; attributes: WireAttribute[] }[];
  status: { code: number; message: string } | null;
};

function decoded(body: Uint8Array): ReceivedSpan[] {
  const options = { defaults: true, arrays: true, longs: Number, oneofs: true };
  const { resourceSpans } = REQUEST.toObject(REQUEST.decode(body), options) as Wire;
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service: attributesOf(resource.attributes)["service.name"],
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        name: span.name,
        kind: span.kind,
        attributes: attributesOf(span.attributes),
        links: span.links.map((link) => ({
          traceId: hex(link.traceId),
          spanId: hex(link.spanId),
          attributes: attributesOf(link.attributes),
        })),
        failed: span.status?.code === 2 ? span.status.message : null,
      })),
    ),
  );
}

function hex(bytes: unknown): string {
  return Buffer.from(bytes as Uint8Array).toString("hex");
}

function attributesOf(pairs: readonly WireAttribute[]): Attributes {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, value[String(value.value)]]));
}
