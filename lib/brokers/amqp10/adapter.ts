import type { Amqp10Config } from "@/lib/brokers/amqp10/kind.shapes";
import { probeAddress } from "@/lib/brokers/amqp10/probe";
import { Amqp10Publisher } from "@/lib/brokers/amqp10/publisher";
import { amqp10Reader } from "@/lib/brokers/amqp10/reader";
import type { Adapter, AdapterDeps } from "@/lib/brokers/port";

/** AMQP 1.0, as Azure Service Bus and Artemis speak it: reads a dead-letter address; redrives to the address of origin. */
export function amqp10Adapter(deps: AdapterDeps): Adapter<Amqp10Config> {
  return {
    reader: (config) => amqp10Reader(config, deps),
    probe: (config, signal) => probeAddress(config, deps, signal),
    publisher: (config, lane = "main") => new Amqp10Publisher(config, lane, deps),
  };
}
