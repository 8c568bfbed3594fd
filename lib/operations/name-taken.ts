import { DomainError } from "@/lib/core/problem";
import { isNameTaken } from "@/lib/store/prisma";

/** Says of a write that a unique name refused what to do. Throws DomainError `name-taken`. */
export async function nameTaken<T>(noun: string, name: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!isNameTaken(error)) throw error;
    throw new DomainError("name-taken", `There is a ${noun} named ${name}: choose another name`, {
      fields: [{ field: "name", detail: "is taken" }],
    });
  }
}
