import type { Signing } from "@/lib/brokers/http/request-signature";
import type { FailedMessage } from "@/lib/kit/park/event";
import type { Fsync } from "@/lib/kit/park/spool";
import type { Clock } from "@/lib/platform/clock";
import type { Backoff } from "@/lib/retry/backoff/backoff";
import type { Random } from "@/lib/retry/clock";

export type ParkerOptions = {
  /** Of Parkade, such as `https://parkade.internal`. */
  url: string;
  /** The source that these events belong to, as it is named in Parkade. */
  source: string;
  /** Sent as `Authorization: Bearer`: a token of Parkade that may send events to the source, or what a proxy before it asks for. */
  token?: string;
  /** For a source that takes signed requests only (`signedIntake`): each request is signed anew, the spool holds no signature. */
  signing?: Signing;
  /** Events wait in this folder while Parkade cannot take them. It outlives the process: no `/tmp` of a container. */
  spoolDir: string;
  /** Default 64 MiB. */
  spoolBytesMax?: number;
  fsync?: Fsync;
  /** How long `park` keeps the consumer at most. Default 2 s. */
  waitMsMax?: number;
  /** Time limit of one request. Default 5 s. */
  requestTimeoutMs?: number;
  /** Events of one request. Default 200. */
  batch?: number;
  /** Events that this process holds, sent or not. Beyond it `park` drops. Default 16 MiB. */
  memoryBytesMax?: number;
  /** The wait between two tries while Parkade cannot take events. Default: 0.5 s, doubled, at most 15 s, equal jitter. */
  backoff?: Backoff;
  observer?: ParkerObserver;
  fetch?: typeof fetch;
  clock?: Clock;
  random?: Random;
};

/** What became of an event. Acknowledge the message after `stored` and `spooled`, and only then. */
export type Parked =
  /** Parkade has committed it, now or before. */
  | { status: "stored"; eventId: string }
  /** It is on disk here, and goes to Parkade when Parkade is back. */
  | { status: "spooled"; eventId: string }
  /** The event was not stored anywhere; do not acknowledge the message. */
  | { status: "dropped"; eventId: string | null; reason: DropReason; detail: string };

export type DropReason =
  /** Parkade will never take it as it is. */
  | "refused"
  /** It could not be serialised. */
  | "invalid"
  | "spool-full"
  | "spool-failed"
  | "memory-full"
  /** Neither Parkade nor the disk answered within `waitMsMax`. It may arrive later. */
  | "timeout"
  | "closed";

/** Hooks for metrics and logs. An error that a hook throws is ignored. */
export type ParkerObserver = {
  parked?(facts: { status: "stored" | "spooled"; eventId: string }): void;
  dropped?(facts: { eventId: string | null; reason: DropReason; detail: string }): void;
  /** Parkade refused a spooled event; it is in `refused.ndjson` of the folder. */
  setAside?(facts: { eventId: string | null; code: string; detail: string }): void;
  outage?(facts: { error: unknown; delayMs: number }): void;
  replayed?(facts: { count: number }): void;
};

export type Parker = {
  readonly source: string;
  /** Never rejects and never throws. Resolves within `waitMsMax`. */
  park(error: unknown, message: FailedMessage): Promise<Parked>;
  /** Tries to send all that waits; false when some of it still waits in the spool. */
  flush(): Promise<boolean>;
  /** Sends or spools what is under way, and ends. The spool stays for the next process. */
  close(): Promise<void>;
};
