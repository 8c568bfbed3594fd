import { DomainError } from "@/lib/core/problem";

/** Nobody signs in yet: who acts is what the caller says, and the console says nothing. */
const LOCAL = "local";
const PRINTABLE = /^[\x20-\x7e\xa0-\xff]{1,128}$/;

/** Who a change is attributed to. Throws DomainError `invalid-request` for a name that is no name. */
export function actorOf(request: Request): string {
  const given = request.headers.get("x-actor")?.trim();
  if (!given) return LOCAL;
  if (!PRINTABLE.test(given)) {
    throw new DomainError("invalid-request", "x-actor must be 1 to 128 printable characters", {
      fields: [{ field: "x-actor", detail: "must be 1 to 128 printable characters" }],
    });
  }
  return given;
}
