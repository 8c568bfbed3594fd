import { LOCAL_ACTOR } from "./actor";
import { DomainError, type FieldError } from "./problem";

/** Everything a viewer may be allowed or denied. */
export const ACTIONS = [
  "view",
  /** Credentials in headers, and payloads as they were sent. */
  "reveal",
  "export",
  "ingest",
  "redrive",
  "ignore",
  "release",
  "confirm",
  "control",
  "change-source",
  "change-target",
  "change-policy",
  "change-settings",
  "change-view",
] as const;
export type Action = (typeof ACTIONS)[number];

/** How Parkade knows the viewer. `system` is Parkade itself. */
type Means = "local" | "session" | "token" | "proxy" | "system";

/** Who asks, and what the answer may hold. Every read, operation, page and handler takes one. */
export type Viewer = {
  /** Stands in audit entries. */
  readonly name: string;
  readonly means: Means;
  /** Names of sources. A viewer of some sources reads and changes nothing of another source. */
  readonly sources: "all" | readonly string[];
  readonly actions: "all" | readonly Action[];
};

/** Whoever reaches the port of a machine without sign-in. */
export function localViewer(name: string = LOCAL_ACTOR): Viewer {
  return { name, means: "local", sources: "all", actions: "all" };
}

/** A part of Parkade that acts by itself: `worker`, `reconciler`, `source:orders`. */
export function systemViewer(name: string): Viewer {
  return { name, means: "system", sources: "all", actions: "all" };
}

export function may(viewer: Viewer, action: Action): boolean {
  return viewer.actions === "all" || viewer.actions.includes(action);
}

export function sees(viewer: Viewer, source: string): boolean {
  return viewer.sources === "all" || viewer.sources.includes(source);
}

/** Null stands for every source. */
export function seesAll(viewer: Viewer, sources: readonly string[] | null): boolean {
  if (viewer.sources === "all" || sources === null) return viewer.sources === "all";
  return sources.every((source) => sees(viewer, source));
}

/**
 * Throws DomainError `forbidden` unless the viewer may do this to these sources. `"all"`: the change concerns every
 * source, as a setting or a control without a source does.
 */
export function assertMay(viewer: Viewer, action: Action, sources: "all" | readonly string[] = []): void {
  if (!may(viewer, action)) throw forbidden(viewer, action, null);
  if (viewer.sources === "all") return;
  if (sources === "all") throw forbidden(viewer, action, "all");
  const denied = sources.find((source) => !sees(viewer, source));
  if (denied !== undefined) throw forbidden(viewer, action, denied);
}

/**
 * The sources a read is restricted to; null = every source. `asked`: the sources that the reader asked for, all when
 * absent. Throws DomainError `forbidden` when the viewer may not view.
 */
export function sourceScope(viewer: Viewer, asked?: readonly string[] | null): string[] | null {
  assertMay(viewer, "view");
  if (viewer.sources === "all") return asked ? [...asked] : null;
  return viewer.sources.filter((source) => !asked || asked.includes(source));
}

function forbidden(viewer: Viewer, action: Action, source: string | null): DomainError {
  const where = source === null ? "" : source === "all" ? " for every source" : ` for source ${JSON.stringify(source)}`;
  const fields: FieldError[] = [{ field: "action", detail: action }];
  if (source !== null) fields.push({ field: "source", detail: source === "all" ? "every source" : source });
  return new DomainError(
    "forbidden",
    `${viewer.name} may not ${action.replace("-", " ")}${where}: ask an administrator`,
    {
      fields,
    },
  );
}
