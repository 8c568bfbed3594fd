import { isBare, messagePattern, patternKey } from "@/lib/events/groups/fingerprint/message.pure";
import { readStack, type Thrown, thrownAtTop } from "@/lib/events/groups/fingerprint/stack.pure";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { hash64 } from "@/lib/platform/plain/hash.pure";

/**
 * Two failures are the same when these are equal: error code, exception type, words of the message, what the deepest cause
 * says, and the first stack frame of the application's own code. The rules are in fingerprint/README.md.
 */
export type Fingerprint = {
  /** 16 hex digits. */
  fingerprint: string;
  exceptionType: string | null;
  /** The words of the message, with values replaced: `order-<n> not found`. At most 300 characters. */
  pattern: string;
  firstFrame: string | null;
  /** 16 hex digits: error code, type and frame without the message. Groups of one family may be one outage. */
  family: string;
};

/** What is shown; all of the pattern is hashed. */
const PATTERN_CHARS_MAX = 300;

export function fingerprintOf({ errorCode, error }: Pick<DeadLetter, "errorCode" | "error">): Fingerprint {
  const read = error.stack === null ? null : readStack(error.stack);
  const thrown = error.stack === null || (error.type && error.message) ? null : thrownAtTop(error.stack);
  const exceptionType = error.type || exceptionName(thrown);
  const message = error.message || (thrown?.message ?? "");
  const said = messagePattern(message);
  const cause = causeBeside(read?.cause ?? null, exceptionType, { message, said });
  const pattern = cause === "" || said === "" ? said + cause : `${said}; caused by ${cause}`;
  const frame = read?.frame ?? null;
  const type = read?.cause?.type ?? exceptionType;
  const identity = [errorCode, exceptionType ?? "", frame ?? "", patternKey(pattern)].join("\u0001");
  return {
    fingerprint: hashOf(identity),
    exceptionType,
    pattern: shown(pattern, exceptionType ?? frame ?? errorCode),
    firstFrame: frame,
    family: hashOf([errorCode, "family", type ?? "", frame ?? ""].join("\u0001")),
  };
}

/** Groups are few beside their events: the hashes of the last ones are kept. */
const hashes = new Map<string, string>();
const HASHES_MAX = 1_000;

function hashOf(identity: string): string {
  let hash = hashes.get(identity);
  if (hash === undefined) {
    hash = hash64(identity);
    if (hashes.size === HASHES_MAX) hashes.clear();
    hashes.set(identity, hash);
  }
  return hash;
}

/**
 * The group that an admission rule names, whatever the failure says. The error code is part of it, as of every group:
 * a filter by error code finds its events by their groups.
 */
export function labelledGroup(errorCode: string, label: string): Fingerprint {
  const fingerprint = hash64([errorCode, "label", label].join("\u0001"));
  return { fingerprint, exceptionType: null, pattern: label, firstFrame: null, family: fingerprint };
}

/** What the deepest cause adds to the type and the message that the event names itself. */
function causeBeside(
  cause: Thrown | null,
  exceptionType: string | null,
  own: { message: string; said: string },
): string {
  if (cause === null) return "";
  const { said } = own;
  const message = cause.message === own.message ? said : messagePattern(cause.message);
  const type = cause.type === null || cause.type === exceptionType || said.includes(cause.type) ? null : cause.type;
  if (type === null && (message === "" || said.includes(message))) return "";
  if (message === "" || said.includes(message)) return type ?? "";
  return type === null ? message : `${type}: ${message}`;
}

/** The name in the first line of a stack, when it is that of an exception. */
function exceptionName(thrown: Thrown | null): string | null {
  const type = thrown?.type ?? null;
  return type !== null && /(?:Exception|Error|Fault|Failure)$/.test(type) ? type : null;
}

/** A pattern of values alone names nothing: it is shown behind the type, the frame or the code. */
function shown(pattern: string, name: string): string {
  const named = pattern !== "" && isBare(pattern) ? `${name}: ${pattern}` : pattern;
  return named.slice(0, PATTERN_CHARS_MAX).toWellFormed();
}
