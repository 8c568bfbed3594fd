import { inject } from "vitest";
import type { Shared, SharedName } from "./shared-servers.ts";

/**
 * A server of the whole test run, started by the first file that asks for it. Files that use it name their topics, queues
 * and groups so that no other file has them, and never kill it: a test that kills a server starts one of its own.
 */
export async function shared<N extends SharedName>(name: N): Promise<Shared<N>> {
  const answer = await fetch(`${inject("sharedServersUrl")}/${name}`);
  if (!answer.ok) throw new Error(`${name} could not be started: ${await answer.text()}`);
  return (await answer.json()) as Shared<N>;
}
