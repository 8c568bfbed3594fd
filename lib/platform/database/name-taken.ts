import { isNameTaken } from "@/lib/platform/database/prisma";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** `since`: when it was made, where that is known. */
export function nameTaken(noun: string, name: string, since: Date | null = null): DomainError {
  const made = since === null ? "" : ` since ${since.toISOString()}`;
  return new DomainError("name-taken", `There is a ${noun} named ${name}${made}: choose another name`, {
    fields: [{ field: "name", detail: "is taken" }],
  });
}

/** Does a write in which the store keeps names unique. Throws DomainError `name-taken`. */
export async function takingName<T>(noun: string, name: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isNameTaken(error) ? nameTaken(noun, name) : error;
  }
}
