/** A failure whose message names the cause and the fix, and never a credential. */
export class CodedError extends Error {
  /** Upper snake case: a code of the broker with its kind in front (`KAFKA_...`), or of the socket (`ECONNREFUSED`). */
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
