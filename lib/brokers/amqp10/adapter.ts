import { abortable } from "@/lib/brokers/abortable";
import {
  closeAmqp10,
  describeAmqp10,
  hostOf,
  onEnd,
  openAmqp10,
  openRawSession,
  type RawMessage,
} from "@/lib/brokers/amqp10/connection";
import type { Amqp10Config } from "@/lib/brokers/amqp10/kind.shapes";
import { receive } from "@/lib/brokers/amqp10/message";
import { Amqp10Publisher } from "@/lib/brokers/amqp10/publisher";
import { amqp10Reader, attach } from "@/lib/brokers/amqp10/reader";
import { repeatedHeaders } from "@/lib/brokers/outbound-headers";
import type { Adapter, AdapterDeps, ProbeResult } from "@/lib/brokers/port";
import { probed, SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";

/** AMQP 1.0, as Azure Service Bus and Artemis speak it: reads a dead-letter address; redrives to the address of origin. */
export function amqp10Adapter(deps: AdapterDeps): Adapter<Amqp10Config> {
  return {
    reader: (config) => amqp10Reader(config, deps),
    probe: (config, signal) => probeAddress(config, deps, signal),
    publisher: (config, lane = "main") => new Amqp10Publisher(config, lane, deps),
    leftOut: (_, message) => repeatedHeaders(message, "its first value"),
  };
}

/** Messages that a probe counts at most: each is sent whole. */
const COUNT_MAX = 200;

/** Samples copies where the broker has a browser. Elsewhere (Azure Service Bus) it takes nothing: a message handed out counts as delivered. */
function probeAddress(
  config: Amqp10Config,
  { clock, addresses }: AdapterDeps,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const look = async () => {
    const connection = await openAmqp10(config, { name: "parkade-probe", clock, signal, addresses });
    const ended = Promise.withResolvers<never>();
    ended.promise.catch(() => undefined);
    onEnd(connection, (error) => ended.reject(error));
    try {
      const receiver = await attach(openRawSession(connection), config, { browse: true, clock, signal });
      const detail = `connected to ${hostOf(config)}, address ${config.address}`;
      const { distribution_mode: mode } = receiver.source as { distribution_mode?: unknown };
      if (String(mode) !== "copy")
        return { detail: `${detail}; not sampled: this broker cannot show messages without taking them` };
      const browsed: Buffer[] = [];
      const drained = Promise.withResolvers<void>();
      receiver.on("message", (context: unknown) => {
        browsed.push((context as RawMessage).message);
        if (browsed.length === COUNT_MAX) drained.resolve();
      });
      receiver.on("receiver_drained", () => drained.resolve());
      receiver.add_credit(COUNT_MAX);
      receiver.drain_credit();
      await abortable(Promise.race([drained.promise, ended.promise]), signal);
      const sample = browsed.slice(0, SAMPLE_MAX).map((bytes) => sampleOf(receive(bytes, config).letter));
      const counted = browsed.length < COUNT_MAX;
      return {
        detail: counted ? detail : `${detail}; at least ${COUNT_MAX} messages`,
        depth: counted ? browsed.length : null,
        sample,
      };
    } finally {
      await closeAmqp10(connection, clock);
    }
  };
  return probed(signal, look, (error) => describeAmqp10(error, config, config.address));
}
