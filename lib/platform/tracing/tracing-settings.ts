import * as z from "zod";

/** Where traces go, by the variables that OpenTelemetry names. */
export type TracingSettings = {
  url: string;
  /** null = `parkade-web`, `parkade-worker`. */
  serviceName: string | null;
  /** Share of the traces that begin here and are recorded, 0 to 1. */
  ratio: number;
  /** Whether the trace of a caller decides for its spans. */
  parentBased: boolean;
};

/** What the variables ask for and Parkade cannot do: a sentence that names the variable. Nothing is traced then. */
export type TracingFault = { fault: string };

const unset = z.preprocess((value) => (value === "" ? undefined : value), z.optional(z.string()));

/**
 * Variables that a whole cluster may share, so no value of them stops a process. The exporter itself reads
 * OTEL_EXPORTER_OTLP_HEADERS, _COMPRESSION and the certificates, and the SDK OTEL_RESOURCE_ATTRIBUTES.
 */
export const TRACING_VARIABLES = {
  OTEL_SDK_DISABLED: unset,
  OTEL_TRACES_EXPORTER: unset,
  OTEL_EXPORTER_OTLP_ENDPOINT: unset,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: unset,
  OTEL_EXPORTER_OTLP_PROTOCOL: unset,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: unset,
  OTEL_SERVICE_NAME: unset,
  OTEL_TRACES_SAMPLER: unset,
  OTEL_TRACES_SAMPLER_ARG: unset,
};

type Variables = z.infer<z.ZodObject<typeof TRACING_VARIABLES>>;

/** null = nothing is traced. */
export function tracingSettingsOf(env: Variables): TracingSettings | TracingFault | null {
  const own = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const shared = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || env.OTEL_TRACES_EXPORTER === "none") return null;
  if (own === undefined && shared === undefined) return null;
  const sampler = env.OTEL_TRACES_SAMPLER ?? "parentbased_always_on";
  if (/^(?:parentbased_)?always_off$/.test(sampler)) return null;
  const fault = faultOf(env, sampler);
  if (fault !== null) return { fault };
  return {
    // The signal's own address is used as it is, the shared one with the path of the signal.
    url: own ?? `${shared!.replace(/\/+$/, "")}/v1/traces`,
    serviceName: env.OTEL_SERVICE_NAME ?? null,
    ratio: sampler.endsWith("traceidratio") ? Number(env.OTEL_TRACES_SAMPLER_ARG ?? 1) : 1,
    parentBased: sampler.startsWith("parentbased_"),
  };
}

function faultOf(env: Variables, sampler: string): string | null {
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? env.OTEL_EXPORTER_OTLP_PROTOCOL ?? "http/protobuf";
  if ((env.OTEL_TRACES_EXPORTER ?? "otlp") !== "otlp") return "OTEL_TRACES_EXPORTER must be otlp or none";
  if (protocol !== "http/protobuf")
    return "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf: no other protocol is supported";
  const name =
    env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT === undefined
      ? "OTEL_EXPORTER_OTLP_ENDPOINT"
      : "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
  const address = env[name] ?? "";
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
    return `${name} must look like http://collector.example:4318`;
  if (!/^(?:parentbased_)?(?:always_on|traceidratio)$/.test(sampler))
    return "OTEL_TRACES_SAMPLER must be one of always_on, always_off, traceidratio, with or without parentbased_ in front";
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG ?? 1);
  if (sampler.endsWith("traceidratio") && !(ratio >= 0 && ratio <= 1))
    return "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1";
  return null;
}
