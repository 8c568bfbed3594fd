import { randomUUID, scryptSync } from "node:crypto";
import type { Db } from "@/lib/platform/database/db";

export const PASSWORD = "four small grey owls";

const hash = scryptSync(PASSWORD, Buffer.alloc(3), 32, { N: 16 });
/** With N = 16: a hash of the cost of production takes a tenth of a second of a core. */
const STORED = ["scrypt", 4, 8, 1, "AAAA", hash.toString("base64url")].join("$");

/** Gives an account the password without its cost. */
export const giveCheapPassword = (db: Db, id: string) =>
  db.run("update accounts set password = $2 where id = $1", [id, STORED]);

/** The first administrator, Ada, with the password. Returns her id. */
export async function addAda(db: Db): Promise<string> {
  const id = randomUUID();
  await db.run(
    `insert into accounts (id, kind, name, name_key, role, created_by, password)
     values ($1, 'person', 'Ada', 'ada', 'admin', 'Ada', $2)`,
    [id, STORED],
  );
  return id;
}
