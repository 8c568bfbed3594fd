import { parseArgs } from "node:util";
import { type BackupCommand, backup } from "./backup-store.ts";
import { runCommand, StartError } from "./start-error.ts";

/** The image's `backup`, and what `npm run backup` runs in a clone: the words behind `parkade backup`. */
function commandOf(words: string[]): BackupCommand {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: { "data-dir": { type: "string" }, actor: { type: "string" }, json: { type: "boolean" } },
  });
  const { "data-dir": dataDir, ...rest } = values;
  const [word] = positionals;
  const action = word === "check" || word === "restore" ? word : null;
  const [path, ...more] = positionals.slice(action === null ? 0 : 1);
  if (path === undefined || more.length > 0)
    throw new StartError(
      "Name one file: `backup FILE-OR-FOLDER`, `backup check FILE` or `backup restore FILE`, with --data-dir FOLDER, --actor NAME or --json.",
    );
  return { action, path, dataDir, ...rest };
}

await runCommand(async () => {
  let command: BackupCommand;
  try {
    command = commandOf(process.argv.slice(2));
  } catch (error) {
    throw error instanceof TypeError ? new StartError(`${error.message.split(". ")[0]}.`) : error;
  }
  await backup(command);
});
