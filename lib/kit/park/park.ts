/** `parkade/park`: all that users may import. A name that leaves this file is a breaking change of the package. */

export type { Signing } from "@/lib/brokers/http/request-signature";
export {
  type Consumed,
  type ConsumeOptions,
  classifyConsumed,
  consumeWithRetry,
} from "@/lib/kit/park/consume-with-retry";
export type { FailedMessage } from "@/lib/kit/park/event";
export {
  createParker,
  type DropReason,
  type Parked,
  type Parker,
  type ParkerObserver,
  type ParkerOptions,
} from "@/lib/kit/park/parker";
export type { Fsync } from "@/lib/kit/park/spool";
