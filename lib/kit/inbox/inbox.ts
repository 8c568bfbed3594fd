/** `parkade/inbox`: all that users may import. A name that leaves this file is a breaking change of the package. */

export {
  type AnyHeaders,
  CONFIRM_DESTINATION,
  type Confirmation,
  confirmProcessed,
  isRedriven,
} from "@/lib/kit/inbox/confirm";
export { createInbox, type Inbox, type InboxOptions } from "@/lib/kit/inbox/consumer";
export {
  type EventVersion,
  forgetProcessed,
  type InboxTableOptions,
  inboxTableSql,
  type Processed,
  type ProcessOptions,
  processOnce,
  StaleVersionError,
} from "@/lib/kit/inbox/process-once";
export {
  type NodeRequest,
  type ReceiveOptions,
  type Redrive,
  type RedriveRefusal,
  RedriveRefused,
  receiveRedrive,
  redriveAnswer,
} from "@/lib/kit/inbox/receive-redrive";
export { type RedriveResult, receiveRedrives, redriveResults } from "@/lib/kit/inbox/receive-redrives";
export { type RedisClient, redisShield, type Shield, type ShieldOptions } from "@/lib/kit/inbox/shield";
export { drizzleSession, type SqlSession } from "@/lib/kit/sql";
