import type { Call } from "@/lib/cli/call";
import { UNASKED_MAX, UsageError } from "@/lib/cli/command";
import { plural } from "@/lib/platform/plain/format.pure";

/**
 * Asks before a large change: the person types the number of events (or `yes` when it is not known). Throws UsageError
 * when nobody can be asked; false = the person did not agree. `always`: also before a small one, which nothing takes back.
 * `besides`: what else would be changed.
 */
export async function confirmed(
  { line, terminal }: Call,
  what: string,
  events: number | null,
  { noun = "event", always = false, besides = "" } = {},
): Promise<boolean> {
  if (line.flag("yes") || (!always && events !== null && events <= UNASKED_MAX)) return true;
  const many = `${events === null ? `an unknown number of ${noun}s` : plural(events, noun)}${besides}`;
  const expected = events === null ? "yes" : String(events);
  const typed = await terminal.ask(`${what} ${many}? Type ${expected} to continue: `);
  if (typed === null)
    throw new UsageError(`this would ${what.toLowerCase()} ${many}: add --yes to do it`, line.command);
  if (typed.replaceAll(",", "").trim() === expected) return true;
  terminal.say("Nothing was changed.");
  return false;
}
