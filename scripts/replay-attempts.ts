import { createDb } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type ReplayReport, replayAttempts } from "@/lib/redrive/list/replay-attempts";
import { rememberedUrl } from "./embedded-postgres.ts";
import { parseStartEnv } from "./start-env.ts";
import { runCommand, StartError } from "./start-error.ts";

const USAGE = "npm run replay -- <redriveId> [eventId] [--policy <name>]";

type Options = { redriveId: string; eventId: string | null; policyName: string | null };

/**
 * `npm run replay`: takes the recorded attempts of a redrive through the engine again and shows where it would decide
 * otherwise now. Ends with 1 when it does; with --policy it shows what another policy would have done, and ends with 0.
 */
async function main(): Promise<void> {
  const options = optionsOf(process.argv.slice(2));
  const db = createDb(databaseUrl(), { max: 1, applicationName: "parkade-replay" });
  try {
    const report = await replayAttempts(db, options);
    for (const line of linesOf(report)) process.stdout.write(`${line}\n`);
    if (report.different > 0 && options.policyName === null) process.exitCode = 1;
  } catch (error) {
    throw error instanceof DomainError ? new StartError(`${error.message}.`, { cause: error }) : error;
  } finally {
    await db.end();
  }
}

/** Throws StartError with the usage. */
function optionsOf(given: readonly string[]): Options {
  const at = given.indexOf("--policy");
  const policyName = at === -1 ? null : (given[at + 1] ?? null);
  const names = at === -1 ? given : given.filter((_, index) => index !== at && index !== at + 1);
  const [redriveId, eventId = null] = names;
  const sound = redriveId !== undefined && names.length <= 2 && (at === -1 || policyName !== null);
  if (!sound || names.some((name) => name.startsWith("--"))) throw new StartError(`Usage: ${USAGE}`);
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(redriveId)) {
    throw new StartError(`${redriveId} is no id of a redrive. Usage: ${USAGE}`);
  }
  return { redriveId, eventId, policyName };
}

/** DATABASE_URL, else the embedded PostgreSQL of a running `npm start`. */
function databaseUrl(): string {
  const env = parseStartEnv(process.env, process.cwd());
  const url = env.databaseUrl ?? rememberedUrl(env.dataDir);
  if (url === null) {
    throw new StartError("There is no store to read: set DATABASE_URL, or start Parkade here with `npm start`.");
  }
  return url;
}

function linesOf({ attempts, decisions, different, listed }: ReplayReport): string[] {
  const differences = listed.map(
    ({ eventId, attempt, recorded, replayed }) =>
      `${eventId}, attempt ${attempt}: ${JSON.stringify(recorded)} -> ${JSON.stringify(replayed)}`,
  );
  const more = different > listed.length ? [`and ${different - listed.length} more`] : [];
  return [...differences, ...more, `${attempts} attempts, ${decisions} decisions, ${different} decided differently`];
}

await runCommand(main);
