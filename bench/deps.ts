import { createDeps, type Deps } from "@/app/_server/deps";
import { readEnv } from "@/lib/env";
import { createLog } from "@/lib/platform/log";

/** The parts of the web process in the process of a bench, without a log. A slow statement is measured, not ended. */
export function benchDeps(databaseUrl: string, more: Record<string, string> = {}): Deps {
  const env = readEnv({ DATABASE_URL: databaseUrl, PARKADE_STATEMENT_TIMEOUT_MS: "60000", ...more });
  return createDeps(env, createLog({ process: "bench", level: "silent" }));
}
