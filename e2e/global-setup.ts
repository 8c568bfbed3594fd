import { rmSync } from "node:fs";
import { makeDataPlace } from "../lib/testing/data-place.ts";
import { buildAll } from "../scripts/build.ts";
import { makeTemplate, TEMPLATES } from "./product.ts";

/** More than the stores of all products need at a time. */
const DATA_BYTES = 2 * 1024 ** 3;

/** Builds the product and makes its empty store once for all journeys; each product starts on a copy of the store. */
export default async function setup(): Promise<() => void> {
  await buildAll((line) => console.log(line));
  const folder = makeDataPlace("e2e", DATA_BYTES);
  // Playwright's workers inherit it.
  process.env[TEMPLATES] = folder;
  const teardown = () => rmSync(folder, { recursive: true, force: true });
  try {
    await makeTemplate(folder);
  } catch (error) {
    teardown();
    throw error;
  }
  return teardown;
}
