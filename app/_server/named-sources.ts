import { readUnknownSources, unknownSource, unknownSourceFaults } from "@/lib/guard/viewer/source-names.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { FieldError } from "@/lib/platform/plain/problem.pure";
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

/** `within`: what precedes the names in the request. */
type NamedSources = {
  sources: readonly string[] | undefined;
  excluded?: readonly string[] | undefined;
  within?: string;
};

/**
 * The answer to a filter that names or excludes these sources. One that does not exist selects or excludes nothing, as any other value may;
 * the answer says so in `hints`, since nothing else tells a misspelt name from a source without events.
 */
export async function withSourceHints<Answer extends object>(
  { deps, viewer }: Asking,
  { sources = [], excluded = [], within = "" }: NamedSources,
  answer: Answer,
): Promise<Answer & { hints?: FieldError[] }> {
  const hints: FieldError[] = [];
  for (const [field, names] of [
    ["source", sources],
    ["not.source", excluded],
  ] as const) {
    if (names.length > 0) hints.push(...(await unknownSourceFaults(deps.db, viewer, { names, field: within + field })));
  }
  return hints.length === 0 ? answer : { ...answer, hints };
}

type ByFilter = { filter: { source?: string[] | undefined; "not.source"?: string[] | undefined } };

/** What `read` answers to the filter of the request's query, with its hints. */
export async function readHinted<Query extends ByFilter, Answer extends object>(
  call: Asking & { query: Query; nowMs: number },
  read: (db: Deps["db"], viewer: Viewer, query: Query, nowMs: number) => Promise<Answer>,
) {
  const { source, "not.source": excluded } = call.query.filter;
  return withSourceHints(
    call,
    { sources: source, excluded },
    await read(call.deps.db, call.viewer, call.query, call.nowMs),
  );
}
