import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";
import { LOCAL_ACTOR } from "./actor.pure";

export const ACTIONS = [
  "view",
  /** Read what is masked, with a reason that the audit keeps. */
  "reveal",
  "export",
  "ingest",
  /** Put events of an export back, with the status and the history that the export says. */
  "restore",
  /** Move settled events from the store into the archive. */
  "remove",
  /** Delete the data of a person everywhere, for good. */
  "forget",
  "redrive",
  /** Approve or reject what another person asked for. */
  "approve",
  "ignore",
  "release",
  "confirm",
  /** Add revisions to events, and choose which one is current. */
  "edit",
  "control",
  "change-source",
  "change-admission",
  "change-redrive-rule",
  "change-target",
  "change-policy",
  "change-settings",
  "change-masks",
  "change-view",
  /** Rules of alerts, channels and maintenance windows. */
  "change-alert",
  "acknowledge",
  /** Mark a moment on the charts. */
  "mark",
  /** Accounts, their roles, and tokens of service accounts. */
  "change-accounts",
] as const;
export type Action = (typeof ACTIONS)[number];
/** What a control of the console asks for: one action, or all of these. */
export type Needs = Action | readonly Action[];

/** How the viewer was recognised. `none`: not at all; `signature`: by the secret of a source; `system` is Parkade itself. */
type Means = "local" | "session" | "token" | "signature" | "proxy" | "system" | "none";

/** The person or program that asks, and its rights. Every read, operation, page and handler takes a viewer. */
export type Viewer = {
  /** The name in audit entries. */
  readonly name: string;
  readonly means: Means;
  /** Id of the account; absent = nobody has signed in. */
  readonly account?: string;
  /** Id of the session; absent = the request came without one. */
  readonly session?: string;
  /** Names of the allowed sources. The viewer reads and changes nothing of other sources. */
  readonly sources: "all" | readonly string[];
  readonly actions: "all" | readonly Action[];
  /** Its account lacks the second factor that its role demands: see `untilSecondFactor`. */
  readonly secondFactorNeeded?: true;
};

/** Every caller that reaches the port of a machine without sign-in. */
export function localViewer(name: string = LOCAL_ACTOR): Viewer {
  return { name, means: "local", sources: "all", actions: "all" };
}

/** Whoever has not signed in where one must: may do nothing but sign in. */
export const NOBODY: Viewer = { name: "nobody", means: "none", sources: [], actions: [] };

/** What is left of a viewer while its account lacks the second factor that its role demands: its own ways in alone. */
export function untilSecondFactor(viewer: Viewer): Viewer {
  return { ...viewer, sources: [], actions: [], secondFactorNeeded: true };
}

/** Throws DomainError `second-factor-needed` for such a viewer. */
export function assertSecondFactor({ means, secondFactorNeeded }: Pick<Viewer, "means" | "secondFactorNeeded">): void {
  if (!secondFactorNeeded) return;
  throw new DomainError(
    "second-factor-needed",
    means === "token"
      ? "The owner of the token needs a second factor: once the owner adds one in the console, the token works again"
      : "Your role needs a second factor, and your account has none: open the console and add one",
  );
}

/** A part of Parkade that acts without a request: `worker`, `reconciler`, `source:orders`. */
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
 * Throws DomainError `forbidden`, or `second-factor-needed`, unless the viewer may do this to these sources. `"all"`: the change concerns every
 * source, as a setting or a control without a source does.
 */
export function assertMay(viewer: Viewer, action: Action, sources: "all" | readonly string[] = []): void {
  assertSecondFactor(viewer);
  if (!may(viewer, action)) throw forbidden(viewer, action, null);
  if (viewer.sources === "all") return;
  if (sources === "all") throw forbidden(viewer, action, "all");
  const denied = sources.find((source) => !sees(viewer, source));
  if (denied !== undefined) throw forbidden(viewer, action, denied);
}

/**
 * Why a control is refused before anything is sent, in words for whoever looks at it; null = it is not. As `assertMay` decides.
 * @param everySource the change concerns every source, as a setting does
 */
export function whyNot(
  { actions, sources }: Pick<Viewer, "actions" | "sources">,
  needs: Needs,
  everySource = false,
): string | null {
  const needed = typeof needs === "string" ? [needs] : needs;
  const missing = needed.find((action) => actions !== "all" && !actions.includes(action));
  if (missing !== undefined) return `You may not ${wordsOf(missing)}: ask an administrator for the right`;
  if (!everySource || sources === "all") return null;
  return `You may ${wordsOf(needed[0]!)} only for ${sources.join(", ") || "no source"}, and this concerns every source`;
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

function wordsOf(action: Action): string {
  return action.replaceAll("-", " ");
}

function forbidden(viewer: Viewer, action: Action, source: string | null): DomainError {
  const where = source === null ? "" : source === "all" ? " for every source" : ` for source ${JSON.stringify(source)}`;
  const fields: FieldError[] = [{ field: "action", detail: action }];
  if (source !== null) fields.push({ field: "source", detail: source === "all" ? "every source" : source });
  return new DomainError("forbidden", `${viewer.name} may not ${wordsOf(action)}${where}: ask an administrator`, {
    fields,
  });
}
