import { watch } from "node:fs";
import { join } from "node:path";
import { buildAll } from "./build.ts";
import { generate } from "./generate.ts";
import { launch, say } from "./launch.ts";
import { ROOT, type Stack } from "./stack.ts";
import { parseStartEnv } from "./start-env.ts";
import { runCommand, StartError } from "./start-error.ts";

/** `npm start` and `npm run dev`, in a clone. */
async function main(): Promise<void> {
  const demo = process.argv.includes("--demo");
  const dev = process.argv.includes("--dev");
  const unknown = process.argv.slice(2).filter((argument) => argument !== "--demo" && argument !== "--dev");
  if (unknown.length > 0) throw new StartError(`Unknown option ${unknown.join(" ")}: there are --demo and --dev.`);
  const env = parseStartEnv(process.env, ROOT);
  if (dev) await launch({ env, demo, dev, build: async () => void generate(), started: restartOnChange });
  await launch({ env, demo, build: (signal) => buildAll(say, signal) });
}

/** Next watches its own files; the worker is started again when its sources change. */
function restartOnChange(stack: Stack): void {
  let pending: NodeJS.Timeout | undefined;
  for (const folder of ["lib", "workers"]) {
    watch(join(ROOT, folder), { recursive: true }, (_, file) => {
      if (!file || !/\.ts$/.test(file) || /\.(test|itest|soak)\.ts$/.test(file)) return;
      clearTimeout(pending);
      pending = setTimeout(() => stack.worker.restart(), 300);
    });
  }
}

await runCommand(main);
