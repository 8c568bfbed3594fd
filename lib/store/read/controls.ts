import type { Control } from "@/lib/core/control";
import type { Queryable } from "@/lib/store/db";

/** Controls in force now, all scopes. Few thousands at the most: an operator reads them. */
export async function readControlsInForce(db: Queryable): Promise<Control[]> {
  return db.query<Control>(
    `select id, kind, scope, value, origin, (extract(epoch from expires_at) * 1000)::float8 as "expiresAtMs"
       from controls where lifted_at is null and (expires_at is null or expires_at > now())`,
    [],
    { name: "controls-in-force" },
  );
}
