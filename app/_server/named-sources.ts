import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { FieldError } from "@/lib/platform/plain/problem.pure";
import { readUnknownSources, unknownSource, unknownSourceFaults } from "@/lib/sources/sources.read";
import type { Deps } from "./deps";

type Asking = { deps: Pick<Deps, "db">; viewer: Viewer };

/**
 * Throws DomainError `unknown-source` for a rule over a source that does not exist: stored as it is, a misspelt name would be
 * a rule that never catches an event.
 */
export async function assertKnownSource({ deps, viewer }: Asking, name: string | undefined, field: string) {
  if (name === undefined) return;
  const [unknown] = await readUnknownSources(deps.db, viewer, [name]);
  if (unknown) throw unknownSource(name, field, unknown.near);
}

/**
 * The answer to a filter that names these sources. One that does not exist selects nothing, as any other value may; the answer says
 * so in `hints`, since nothing else tells a misspelt name from a source without events.
 */
export async function withSourceHints<Answer extends object>(
  { deps, viewer }: Asking,
  { sources, field = "source" }: { sources: readonly string[] | undefined; field?: string },
  answer: Answer,
): Promise<Answer & { hints?: FieldError[] }> {
  if (sources === undefined) return answer;
  const hints = await unknownSourceFaults(deps.db, viewer, { names: sources, field });
  return hints.length === 0 ? answer : { ...answer, hints };
}
