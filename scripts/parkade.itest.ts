import { join } from "node:path";
import { expect, test } from "vitest";
import { version } from "../package.json";
import { runTool } from "./run-tool.ts";
import { ROOT } from "./stages.ts";

const parkade = (...words: string[]) =>
  runTool(process.execPath, [join(ROOT, "scripts/parkade.ts"), ...words], { cwd: ROOT });

test("a clone has the command line, with its words and exit codes", async () => {
  expect(await parkade("--version")).toEqual({ code: 0, output: `${version}\n` });
  expect(await parkade("nonsense")).toMatchObject({ code: 2, output: expect.stringContaining("nonsense") });
});
