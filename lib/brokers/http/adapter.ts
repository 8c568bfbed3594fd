import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { HttpPublisher, probeUrl } from "@/lib/brokers/http/publisher";
import { headersLeftOut } from "@/lib/brokers/http/request";
import type { Adapter, AdapterDeps } from "@/lib/brokers/port";

/**
 * HTTP: events arrive through our own API; a redrive posts them to the URL an operator configured. Any http or https
 * address may be configured, private ones too, because the systems to redrive to usually are private: a person who may edit
 * sources decides which systems this server can reach, but for the addresses that the operator's list refuses.
 */
export function httpAdapter({ clock, addresses }: AdapterDeps): Adapter<HttpConfig> {
  return {
    reader: null,
    probe: async (config, signal) =>
      config.redriveUrl === undefined
        ? { reachable: true, detail: "no redriveUrl: events can be parked, not redriven", depth: null, sample: [] }
        : probeUrl(config.redriveUrl, config, { clock, addresses }, signal),
    publisher: (config, lane = "main") => new HttpPublisher(config, lane, { clock, addresses }),
    leftOut: headersLeftOut,
  };
}
