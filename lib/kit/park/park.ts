/** `parkade/park`: all that users may import. A name that leaves this file is a breaking change of the package. */

export type { Signing } from "@/lib/brokers/http/request-signature";
export {
  type Consumed,
  type ConsumeOptions,
  classifyConsumed,
  consumeWithRetry,
} from "@/lib/kit/park/consume-with-retry";
export type { FailedMessage } from "@/lib/kit/park/event";
export { createParker } from "@/lib/kit/park/parker";
export type { DropReason, Parked, Parker, ParkerObserver, ParkerOptions } from "@/lib/kit/park/parker-types";
export type { Fsync } from "@/lib/kit/park/spool";
