import { countMasks } from "@/lib/guard/masking/mask-json.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import type { Clock } from "@/lib/platform/clock";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { createTurns } from "@/lib/platform/turns";
import type { MendFailure } from "@/lib/repair/mends/mending.pure";
import type { Recipe } from "@/lib/selection/operations/recipe.shapes";
import { MendedMessage, type Message } from "./document";
import { MendFault } from "./fault";
import { compileForm, type Edit, RecipeFault } from "./form";
import { compileJsonPatch } from "./json-patch";

/** What a recipe does to one message. `places`: what was changed, for the record of the revision. */
export type Mended =
  | { kind: "changed"; message: Message; places: string[] }
  | { kind: "unchanged" }
  | { kind: "failed"; code: MendFailure; detail: string | null };

/** Applies one recipe to any number of messages, in turns with other work. */
export type Mender = (messages: readonly Message[]) => Promise<Mended[]>;

/** A recipe may insert more text than it finally leaves: at most this many times the payload limit. */
const GROWTH = 4;
/** Places that are kept of one revision. */
const PLACES_MAX = 100;

/** Throws DomainError `invalid-recipe` for a recipe that cannot be applied to anything, or that means two things. */
export function compileRecipe(deps: { clock: Clock }, recipe: Recipe, payloadBytesMax: number): Mender {
  // A patch may be JSON as text, whose escapes are escaped once more here.
  if (countMasks(JSON.stringify(recipe).replaceAll("\\\\", "\\")) > 0) {
    throw invalidRecipe(
      "recipe",
      `contains the mask ${REDACTED}, which would be stored as a value: give the value itself`,
    );
  }
  try {
    const edit = compileEdit(recipe);
    const apply = (message: Message) => mended(message, payloadBytesMax, edit);
    return (messages) => inTurns(deps.clock, messages, apply);
  } catch (error) {
    if (error instanceof RecipeFault) throw invalidRecipe(error.field, error.message);
    if (error instanceof MendFault) throw invalidRecipe("recipe", `${error.code} at ${error.detail}`);
    if (error instanceof RangeError) throw invalidRecipe("recipe", "is nested too deeply");
    throw error;
  }
}

function invalidRecipe(field: string, detail: string): DomainError {
  return new DomainError("invalid-recipe", `The recipe cannot be used: ${field} ${detail}`, {
    fields: [{ field, detail }],
  });
}

function compileEdit(recipe: Recipe): Edit {
  switch (recipe.kind) {
    case "form":
      return compileForm(recipe);
    case "json-patch":
      return compileJsonPatch(recipe);
    default:
      // A mend that an earlier version has stored.
      throw new RecipeFault("recipe.kind", "is of a kind that was removed");
  }
}

async function inTurns(
  clock: Clock,
  messages: readonly Message[],
  apply: (message: Message) => Mended,
): Promise<Mended[]> {
  const results: Mended[] = [];
  const turns = createTurns(clock);
  for (const message of messages) {
    results.push(apply(message));
    if (turns.due()) await turns.give();
  }
  return results;
}

function mended(message: Message, payloadBytesMax: number, edit: Edit): Mended {
  const made = new MendedMessage(message, GROWTH * payloadBytesMax + message.payload.byteLength);
  try {
    edit(made);
    const result = made.result();
    if (result === null) return { kind: "unchanged" };
    const bytes = result.payload.byteLength;
    if (bytes > payloadBytesMax && bytes > message.payload.byteLength) {
      return failed("too-large", `${bytes} bytes, the limit is ${payloadBytesMax}`);
    }
    return { kind: "changed", message: result, places: made.touched.slice(0, PLACES_MAX) };
  } catch (error) {
    if (error instanceof MendFault) return failed(error.code, error.detail);
    // The stack of the parser, or of a walk over the document.
    if (error instanceof RangeError) return failed("too-deep", null);
    throw error;
  }
}

function failed(code: MendFailure, detail: string | null): Mended {
  return { kind: "failed", code, detail };
}
