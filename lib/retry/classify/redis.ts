import { type Family, judged } from "@/lib/retry/classify/classifier";
import { type CodeRule, MAYBE_SENT, NOT_SENT, PERMANENT, THROTTLED, tableOf } from "@/lib/retry/classify/verdict";

/**
 * Redis error replies by their prefix, the first word in capitals, which the protocol defines as the error's code.
 * A command that was refused has changed nothing. Sources: Redis serialization protocol, "Simple errors"; Redis
 * Cluster specification; server.c, "createSharedObjects".
 */
export const REDIS_PREFIXES = tableOf<CodeRule>({
  LOADING: NOT_SENT, // the data set is being read after a start
  BUSY: NOT_SENT, // a script is running
  TRYAGAIN: NOT_SENT, // keys of one command are on two nodes while a slot moves
  CLUSTERDOWN: NOT_SENT,
  MASTERDOWN: NOT_SENT,
  READONLY: NOT_SENT, // the primary became a replica: a new connection finds the new primary
  MOVED: NOT_SENT,
  ASK: NOT_SENT,
  NOREPLICAS: NOT_SENT,
  OOM: THROTTLED,
  MISCONF: PERMANENT, // snapshots fail, writes are refused until a person acts
  NOAUTH: PERMANENT,
  WRONGPASS: PERMANENT,
  NOPERM: PERMANENT,
  WRONGTYPE: PERMANENT,
  NOSCRIPT: PERMANENT,
  CROSSSLOT: PERMANENT,
  EXECABORT: PERMANENT,
  ERR: PERMANENT,
});

/** Replies as ioredis and node-redis give them (`ReplyError`, `SimpleError`), and errors of ioredis itself. */
export const REDIS_ERRORS: Family = {
  byCode({ link: { message }, name }) {
    if (!/^(ReplyError|SimpleError|ErrorReply)$/.test(name) || typeof message !== "string") return undefined;
    const prefix = /^[A-Z]+/.exec(message)?.[0] ?? "";
    return judged(`REDIS_${prefix}`, REDIS_PREFIXES[prefix] ?? null) ?? null;
  },
  // The connection was lost while the command was queued or under way.
  byName: (name) => judged("REDIS_CONNECTION_LOST", name === "MaxRetriesPerRequestError" ? MAYBE_SENT : null),
};
