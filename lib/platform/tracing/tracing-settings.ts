import * as z from "zod";

/** Where traces go, by the variables that OpenTelemetry names. */
export type TracingSettings = {
  url: string;
  /** null = `parkade-web`, `parkade-worker`. */
  serviceName: string | null;
  /** Share of the traces that begin here and are recorded, 0 to 1. */
  ratio: number;
};

const ADDRESS_RULE = "must look like http://collector.example:4318";
const SAMPLER_RULE = "must be one of always_on, always_off, traceidratio, with or without parentbased_ in front";
const RATIO_RULE = "must be a number from 0 to 1";

const unset = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (value === "" ? undefined : value), z.optional(schema));
const address = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), ADDRESS_RULE);

/**
 * The exporter itself reads OTEL_EXPORTER_OTLP_HEADERS, _COMPRESSION and the certificates, and the SDK
 * OTEL_RESOURCE_ATTRIBUTES.
 */
export const TRACING_VARIABLES = {
  OTEL_SDK_DISABLED: unset(z.string()),
  OTEL_TRACES_EXPORTER: unset(z.string().refine((text) => text === "otlp" || text === "none", "must be otlp or none")),
  OTEL_EXPORTER_OTLP_ENDPOINT: unset(address),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: unset(address),
  OTEL_EXPORTER_OTLP_PROTOCOL: unset(
    z.string().refine((text) => text === "http/protobuf", "must be http/protobuf: no other one is spoken"),
  ),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: unset(
    z.string().refine((text) => text === "http/protobuf", "must be http/protobuf: no other one is spoken"),
  ),
  OTEL_SERVICE_NAME: unset(z.string()),
  OTEL_TRACES_SAMPLER: unset(
    z.string().refine((text) => /^(parentbased_)?(always_on|always_off|traceidratio)$/.test(text), SAMPLER_RULE),
  ),
  OTEL_TRACES_SAMPLER_ARG: unset(z.coerce.number(RATIO_RULE).min(0, RATIO_RULE).max(1, RATIO_RULE)),
};

type Variables = z.infer<z.ZodObject<typeof TRACING_VARIABLES>>;

/** null = nothing is traced. */
export function tracingSettingsOf(env: Variables): TracingSettings | null {
  const own = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const shared = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || env.OTEL_TRACES_EXPORTER === "none") return null;
  if (own === undefined && shared === undefined) return null;
  const sampler = env.OTEL_TRACES_SAMPLER?.replace("parentbased_", "") ?? "always_on";
  return {
    // The signal's own address is used as it is, the shared one with the path of the signal.
    url: own ?? `${shared!.replace(/\/+$/, "")}/v1/traces`,
    serviceName: env.OTEL_SERVICE_NAME ?? null,
    ratio: sampler === "always_off" ? 0 : sampler === "traceidratio" ? (env.OTEL_TRACES_SAMPLER_ARG ?? 1) : 1,
  };
}
