import { formatNumber } from "@/lib/platform/plain/format.pure";
import type { InferredSchema, SchemaTrial } from "@/lib/sources/schemas/payload-schemas.shapes";

export function typeWords(eventType: string | null): string {
  return eventType ?? "all other types";
}

/** What an inference read, in one sentence. */
export function inferredWords({ schema, eventsRead, confirmed, skipped, optional }: InferredSchema): string {
  if (schema === null) return "No event of this type was redriven and could be read: paste a schema instead.";
  const events = `${formatNumber(eventsRead)} redriven ${eventsRead === 1 ? "event" : "events"}`;
  const left = skipped === 0 ? "" : `, ${formatNumber(skipped)} could not be read`;
  const some = optional.length === 0 ? "Every field is in all of them." : `Optional: ${listed(optional)}.`;
  return `Read from ${events}, ${formatNumber(confirmed)} of them confirmed${left}. ${some}`;
}

const NAMED_MAX = 8;

function listed(pointers: readonly string[]): string {
  const more = pointers.length - NAMED_MAX;
  return `${pointers.slice(0, NAMED_MAX).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** How events fare under a schema, one line for each kind of them. */
export function trialWords({ parked, delivered }: SchemaTrial): string[] {
  return [line("parked", parked), line("redriven", delivered)];
}

function line(what: string, { checked, passed, undecided }: SchemaTrial["parked"]): string {
  if (checked === 0) return `There is no ${what} event of this type.`;
  const left = undecided === 0 ? "" : `, ${formatNumber(undecided)} could not be checked`;
  return `${formatNumber(passed)} of the newest ${formatNumber(checked)} ${what} events would pass${left}.`;
}
