import { type Family, judged } from "@/lib/retry/classify/classifier";
import { type CodeRule, MAYBE_SENT, NOT_SENT, PERMANENT, tableOf } from "@/lib/retry/classify/verdict";

/** Codes of the outbox adapter: nothing was written, and a repeat would find the same. */
const OUTBOX_CODES = tableOf<CodeRule>({
  OUTBOX_ROW_GONE: PERMANENT,
  OUTBOX_ROW_CHANGED: PERMANENT,
  OUTBOX_NO_TABLE: PERMANENT,
  OUTBOX_NO_COLUMN: PERMANENT,
  OUTBOX_COLUMN_TYPE: PERMANENT,
  OUTBOX_NO_PERMISSION: PERMANENT,
  OUTBOX_PAYLOAD: PERMANENT,
});

/** Errors with a SQLSTATE as their code: those of pg, and of what is built on it. */
export const POSTGRES_ERRORS: Family = {
  byCode: ({ code }) => (typeof code === "string" ? judged(code, OUTBOX_CODES[code] ?? postgresRule(code)) : undefined),
};

/**
 * Rule of a PostgreSQL SQLSTATE, for targets that are outbox tables. A failed statement leaves nothing behind; only
 * a connection lost around the commit is unknown. Source: PostgreSQL "Error Codes", appendix A.
 * @returns null when `code` is not a SQLSTATE we judge
 */
function postgresRule(code: string): CodeRule | null {
  if (!/^[0-9A-Z]{5}$/.test(code)) return null;
  switch (code) {
    case "40001": // serialization_failure
    case "40P01": // deadlock_detected
    case "55P03": // lock_not_available
    case "57014": // query_canceled: statement_timeout
    case "57P03": // cannot_connect_now
      return NOT_SENT;
    case "57P01": // admin_shutdown
    case "57P02": // crash_shutdown
      return MAYBE_SENT;
  }
  const group = code.slice(0, 2);
  if (group === "53") return NOT_SENT; // insufficient resources
  if (group === "08") return code === "08001" || code === "08004" ? NOT_SENT : MAYBE_SENT; // connection
  return group === "22" || group === "23" || group === "42" || group === "28" ? PERMANENT : null;
}
