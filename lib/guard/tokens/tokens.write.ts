import { SEEN_EVERY_MS } from "@/lib/guard/sessions/session.pure";
import type { Queryable } from "@/lib/platform/database/db";

/** At most once a minute; of several requests at once one writes. */
export async function touchToken(db: Queryable, id: string, address: string | null): Promise<void> {
  await db.run(
    `update api_tokens set used_at = now(), used_address = $2
      where id = $1 and (used_at is null or used_at < now() - $3 * interval '1 ms')`,
    [id, address, SEEN_EVERY_MS],
  );
}
