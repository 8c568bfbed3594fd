import type { Clock } from "@/lib/platform/clock";
import type { Log } from "@/lib/platform/log";
import { setTracer } from "@/lib/platform/tracing/spans";
import type { TracingFault, TracingSettings } from "@/lib/platform/tracing/tracing-settings";

/** Gives this process a tracer if it has an address for traces. The SDK is loaded only then. */
export function openTracer(
  settings: TracingSettings | TracingFault | null,
  parts: { process: "web" | "worker"; log: Log; clock: Clock },
): void {
  if (settings === null || "fault" in settings) {
    if (settings !== null) parts.log.error({ fault: settings.fault }, "traces cannot be recorded");
    setTracer(null);
    return;
  }
  const opening = import("@/lib/platform/tracing/otlp-tracer").then(({ createOtlpTracer }) =>
    createOtlpTracer(settings, parts),
  );
  opening.catch((error: unknown) => parts.log.error({ err: error }, "traces cannot be recorded"));
  setTracer(opening);
}
