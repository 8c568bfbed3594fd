import { DomainError } from "@/lib/platform/plain/problem.pure";

export function unknownEvent(id: string): DomainError {
  return new DomainError("unknown-event", `There is no event ${id}: it may have left the store`, {
    fields: [{ field: "id", detail: "must be the id of an event as listed, not its eventId" }],
  });
}

/** Of one that does not exist, or of whose sources the viewer does not see all. */
export function unknownOperation(id: string, field = "id"): DomainError {
  return new DomainError("unknown-operation", `There is no operation ${id}`, {
    fields: [{ field, detail: "list operations with GET /api/v1/operations" }],
  });
}

/** Of one that does not exist, or of whose sources the viewer does not see all. */
export function unknownRedrive(id: string, field = "id"): DomainError {
  return new DomainError("unknown-redrive", `There is no redrive ${id}`, {
    fields: [{ field, detail: "list redrives with GET /api/v1/redrives" }],
  });
}
