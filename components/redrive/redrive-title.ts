import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";

type Titled = Pick<RedriveOut, "mode" | "reason" | "total"> & Partial<Pick<RedriveOut, "selection" | "earlier">>;

/**
 * The title of a redrive: its reason, because an id says nothing to a reader. A reason that only counts what was selected
 * also counts the earlier versions that went along: `Redrive of 1 selected event and 3 earlier`.
 */
export function redriveTitle({ mode, reason, total, selection, earlier }: Titled): string {
  const text = reason.trim();
  if (text === "") return `${mode === "verify" ? "Verify" : "Redrive"} ${plural(total, "event")}`;
  const selected = selectionTerms(selection);
  const along = selected.kind === "ids" && earlier === "include" ? total - selected.count : 0;
  return along > 0 && SELECTED.test(text) ? `${text} and ${formatNumber(along)} earlier` : text;
}

/** The reason of a redrive that was requested without one. */
const SELECTED = /^(Redrive|Dry run) of [\d,]+ selected events?$/;

type Term = { name: string; values: string[] };

/**
 * The selection as terms: `errorCode: UPSTREAM_5XX`. An older version may have stored another form; a selection that is
 * neither a filter nor a list of ids has no terms.
 */
export function selectionTerms(
  selection: unknown,
):
  | { kind: "ids"; count: number }
  | { kind: "filter"; terms: Term[] }
  | { kind: "operation"; id: string }
  | { kind: "redrive"; id: string; outcome: string[] } {
  if (isRecord(selection) && typeof selection.redrive === "string") {
    return { kind: "redrive", id: selection.redrive, outcome: texts(selection.outcome) };
  }
  if (isRecord(selection) && typeof selection.operation === "string") {
    return { kind: "operation", id: selection.operation };
  }
  if (isRecord(selection) && Array.isArray(selection.ids)) return { kind: "ids", count: selection.ids.length };
  const filter = isRecord(selection) && isRecord(selection.filter) ? selection.filter : {};
  const terms: Term[] = [];
  for (const [name, value] of Object.entries(filter)) {
    if (name === "tags" && isRecord(value)) {
      for (const [key, list] of Object.entries(value)) terms.push({ name: `tag.${key}`, values: texts(list) });
    } else terms.push({ name, values: texts(value) });
  }
  return { kind: "filter", terms };
}

/** Where it delivers: `to orders.audit`, `slow lane`. */
export function placeWords({ target, lane }: Pick<RedriveOut, "target" | "lane">): string {
  return target === null ? `${lane} lane` : `to ${target}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function texts(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).filter((entry) => entry !== undefined && entry !== null).map(String);
}

/** Outcomes that are verbs of the events; the others need `were`. */
const VERBS = new Set(["failed", "bounced", "passed"]);

/** `events that failed or were refused` */
export function becameWords(outcomes: readonly string[]): string {
  return `events that ${outcomes.map((outcome) => (VERBS.has(outcome) ? outcome : `were ${outcome}`)).join(" or ")}`;
}
