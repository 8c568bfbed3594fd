/** The commit failed; the broker gets the batch back. */
export class ParkRejected extends Error {
  override readonly name = "ParkRejected";
}

/** Codes are safe to show; the texts of a database are not. */
export function parkFailure(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code !== "" ? code : error instanceof Error ? error.name : "unknown error";
}

/** The store takes no values of this message, ever: no outage, whatever happens to the others. */
export function isRefusal(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "invalid-request";
}
