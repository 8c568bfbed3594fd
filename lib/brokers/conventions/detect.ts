import type { Convention, DeliveryView, Reading } from "@/lib/brokers/conventions/delivery";
import { easyNetQ } from "@/lib/brokers/conventions/easynetq";
import { generic } from "@/lib/brokers/conventions/generic";
import { massTransit } from "@/lib/brokers/conventions/masstransit";
import { nserviceBus } from "@/lib/brokers/conventions/nservicebus";
import { rebus } from "@/lib/brokers/conventions/rebus";
import { springAmqp, springCloudStream } from "@/lib/brokers/conventions/spring-amqp";
import { xDeath } from "@/lib/brokers/conventions/x-death";

/**
 * In order of detection. Frameworks come before the broker's own records: a message that went through a retry queue
 * carries `x-death` of those earlier hops too.
 */
export const CONVENTIONS: readonly Convention[] = [
  easyNetQ,
  nserviceBus,
  massTransit,
  rebus,
  springCloudStream,
  springAmqp,
  xDeath,
  generic,
];

/** How the first convention that recognises the delivery reads it. */
export function readConvention(view: DeliveryView): Reading {
  for (const convention of CONVENTIONS) {
    const reading = convention.read(view);
    if (reading !== null) return reading;
  }
  throw new Error("the generic convention reads everything"); // unreachable: it is the last
}
