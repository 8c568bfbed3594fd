import { actorFault, cleanActor, LOCAL_ACTOR } from "@/lib/core/actor";
import { DomainError } from "@/lib/core/problem";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Who a change is attributed to. Throws DomainError `invalid-request` for a name that nobody may use. */
export function actorOf(request: Request): string {
  const given = request.headers.get("x-actor");
  if (given === null || given.trim() === "") return LOCAL_ACTOR;
  const name = cleanActor(asUtf8(given));
  const fault = actorFault(name);
  if (fault === null) return name;
  throw new DomainError("invalid-request", `x-actor ${fault}`, { fields: [{ field: "x-actor", detail: fault }] });
}

/** A header comes as one character for each byte. Bytes that are no UTF-8 are the Latin-1 of older clients. */
function asUtf8(header: string): string {
  try {
    return utf8.decode(Buffer.from(header, "latin1"));
  } catch {
    return header;
  }
}
