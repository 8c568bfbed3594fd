import { parseArgs } from "node:util";
import { replay } from "./replay-attempts.ts";
import { runCommand, StartError } from "./start-error.ts";

/** The image's `replay`, and what `npm run replay` runs in a clone: the words behind `parkade replay`. */
await runCommand(async () => {
  const options = { policy: { type: "string" }, "data-dir": { type: "string" } } as const;
  const { values, positionals } = parseArgs({ args: process.argv.slice(2), allowPositionals: true, options });
  const [redriveId, eventId = null, ...more] = positionals;
  if (redriveId === undefined || more.length > 0)
    throw new StartError("Name a redrive: `replay REDRIVE-ID [EVENT-ID]`, with --policy NAME or --data-dir FOLDER.");
  await replay({ redriveId, eventId, policyName: values.policy ?? null, dataDir: values["data-dir"] });
});
