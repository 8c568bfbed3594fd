import { HttpPublisher, probeUrl } from "@/lib/brokers/http/publisher";
import type { Broker, Consumer } from "@/lib/brokers/port";
import type { HttpConfig } from "@/lib/contract/source-config";
import type { Clock } from "@/lib/platform/clock";

/** HTTP producers send events to Parkade's API: there is no queue to read, so no reader can lag or fail. */
function nothingToConsume(): Consumer {
  let stopped = false;
  return {
    state: () => ({ state: stopped ? "stopped" : "running", lag: null, lastError: null }),
    stop: async () => {
      stopped = true;
    },
  };
}

export type HttpOptions = { clock: Clock };

/**
 * HTTP: events arrive through our own API; a redrive posts them to the URL an operator configured. Any http or https
 * address may be configured, private ones too, because the systems to redrive to usually are private: a person who may edit
 * sources decides which systems this server can reach.
 */
export function httpBroker({ clock }: HttpOptions): Broker<HttpConfig> {
  return {
    kind: "http",
    consume: () => nothingToConsume(),
    probe: async (config, signal) =>
      config.redriveUrl === undefined
        ? { reachable: true, detail: "no redriveUrl: events can be parked, not redriven", depth: null, sample: [] }
        : probeUrl(config.redriveUrl, config, clock, signal),
    publisher: (config, lane = "main") => new HttpPublisher(config, lane, { clock }),
  };
}
