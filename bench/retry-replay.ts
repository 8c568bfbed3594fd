import { readFile } from "node:fs/promises";
import { parsePolicy } from "@/lib/retry/policy";
import { type RecordedOperation, replay } from "@/lib/retry/replay";

/**
 * Re-runs recorded attempt histories through the engine and prints where it would decide otherwise now:
 * `RETRY_HISTORY=history.json npm run bench -- retry-replay`. The file is one recorded operation or a list of them, as
 * `AttemptRecord`s in JSON; `RETRY_POLICY=policy.json` replays them under another policy. Rejects when a history that
 * is replayed under its own policy is decided differently.
 */
export async function run(): Promise<void> {
  const { RETRY_HISTORY: historyPath, RETRY_POLICY: policyPath } = process.env;
  if (historyPath === undefined) {
    console.log("set RETRY_HISTORY to a file of recorded operations");
    return;
  }
  const read = JSON.parse(await readFile(historyPath, "utf8")) as RecordedOperation | RecordedOperation[];
  const policy = policyPath === undefined ? undefined : parsePolicy(JSON.parse(await readFile(policyPath, "utf8")));
  const operations = [read].flat();
  let attempts = 0;
  let differences = 0;
  for (const [index, operation] of operations.entries()) {
    attempts += operation.attempts.length;
    for (const difference of replay(operation, policy)) {
      differences++;
      console.log(
        `operation ${index}, attempt ${difference.attempt}: ${JSON.stringify(difference.recorded)} -> ${JSON.stringify(difference.replayed)}`,
      );
    }
  }
  console.log(`${operations.length} operations, ${attempts} attempts, ${differences} decided differently`);
  if (differences > 0 && policy === undefined) throw new Error("the engine does not decide as it did");
}
