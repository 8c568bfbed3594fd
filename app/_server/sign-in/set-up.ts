import { makeSetupLink } from "@/lib/guard/accounts/account-links";
import { isPassing } from "@/lib/platform/database/retrying";
import { sqlState } from "@/lib/platform/postgres-pool";
import { deps } from "../deps";

const STORE_EVERY_MS = 1_000;

/**
 * What PostgreSQL answers while the migration has not made these yet: a table, a column, the rights of the role, the role (28P01 where
 * it has a password, else 28000), the database.
 */
const NOT_MIGRATED: readonly (string | null)[] = ["42P01", "42703", "42501", "28P01", "28000", "3D000"];

/**
 * When the web process has started: see `makeSetupLink`. null also where nobody signs in, or nobody by a password. Waits for
 * a store that is not there, or not migrated, yet; rejects with the reason of the signal when it is aborted meanwhile.
 * Throws EnvError, and what the store answers else.
 */
export async function makeSetupLinkAtStart(signal: AbortSignal): Promise<string | null> {
  const own = deps();
  if (own.env.signIn === "off" || !own.env.passwordSignIn) return null;
  for (let tries = 1; ; tries++) {
    try {
      return await makeSetupLink(own, own.env.publicUrl);
    } catch (error) {
      if (!isPassing(error) && !NOT_MIGRATED.includes(sqlState(error))) throw error;
      if (tries === 1) own.log.warn({ err: error }, "the link for the first account is made when the store is there");
      await own.clock.sleep(STORE_EVERY_MS, signal);
    }
  }
}
