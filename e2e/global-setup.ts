import { buildAll } from "../scripts/build.ts";

/** What the journeys run is built once for all of them. */
export default async function setup(): Promise<void> {
  await buildAll((line) => console.log(line));
}
