import { toSearchParams } from "@/lib/selection/filter/filter-params.shapes";
import { readFilter } from "@/lib/selection/filter/filter-read.browser";
import type { Selection } from "@/lib/selection/selection.shapes";

/**
 * The address of the mend page holds all that a reload needs: the selected events, and the ids of what was started for
 * them. Named events do not fit into an address, so `of=ids:<key>` names a list that this tab keeps.
 */
export type MendAddress = {
  selection: Selection | null;
  /** The mend (a bulk operation), the dry run of what it changed, and the redrive of what passed. */
  mend: string | null;
  verify: string | null;
  send: string | null;
};

type RedriveSelection = Extract<Selection, { redrive: unknown }>;

const STARTED = ["mend", "verify", "send"] as const;
const idsKey = (key: string) => `parkade.mend.${key}`;
/** So many ids fit into an address. */
const IDS_IN_ADDRESS = 20;

export function readMendAddress(params: URLSearchParams): MendAddress {
  const [mend, verify, send] = STARTED.map((name) => params.get(name)) as [string | null, string | null, string | null];
  return { selection: selectionIn(params), mend, verify, send };
}

function selectionIn(params: URLSearchParams): Selection | null {
  const of = params.get("of");
  if (of !== null) return selectionOfText(of);
  const rest = new URLSearchParams(params);
  for (const name of STARTED) rest.delete(name);
  const { filter } = readFilter(rest);
  return filter === null || Object.keys(filter).length === 0 ? null : { filter };
}

function selectionOfText(of: string): Selection | null {
  const [kind, id = "", outcomes = "", ...result] = of.split(":");
  if (kind === "id") return { ids: id.split(",") };
  if (kind === "operation") return { operation: id };
  if (kind === "ids") return storedIds(id);
  if (kind !== "redrive") return null;
  // The server refuses an outcome that does not exist.
  const outcome = outcomes.split(",") as RedriveSelection["outcome"];
  return { redrive: id, outcome, ...(result.length === 0 ? {} : { result: result.join(":") }) };
}

function storedIds(key: string): Selection | null {
  try {
    const ids: unknown = JSON.parse(sessionStorage.getItem(idsKey(key)) ?? "null");
    return Array.isArray(ids) ? { ids } : null;
  } catch {
    return null;
  }
}

/** The address of the mend page for these events. `key`: a new name for a long list of ids. */
export function mendHref(selection: Selection, key: () => string): string {
  if ("filter" in selection) return `/mend?${toSearchParams(selection.filter)}`;
  return `/mend?${new URLSearchParams({ of: textOf(selection, key) })}`;
}

function textOf(selection: Exclude<Selection, { filter: unknown }>, key: () => string): string {
  if ("operation" in selection) return `operation:${selection.operation}`;
  if ("redrive" in selection) {
    const { redrive, outcome, result } = selection;
    return ["redrive", redrive, outcome.join(","), ...(result === undefined ? [] : [result])].join(":");
  }
  if (selection.ids.length <= IDS_IN_ADDRESS) return `id:${selection.ids.join(",")}`;
  const name = key();
  sessionStorage.setItem(idsKey(name), JSON.stringify(selection.ids));
  return `ids:${name}`;
}

/** The address with one more thing started; `id` null: it was undone. */
export function withStarted(params: URLSearchParams, name: (typeof STARTED)[number], id: string | null): string {
  const next = new URLSearchParams(params);
  if (id === null) next.delete(name);
  else next.set(name, id);
  return `/mend?${next}`;
}

/** The address of the recipe step for the same events. */
export function backToRecipe(params: URLSearchParams): string {
  const next = new URLSearchParams(params);
  for (const name of STARTED) next.delete(name);
  return `/mend?${next}`;
}
