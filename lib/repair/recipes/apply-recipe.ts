import { maskHeaders } from "@/lib/guard/masking/mask.pure";
import { holdsMask } from "@/lib/guard/masking/mask-json.pure";
import type { MaskSet } from "@/lib/guard/masking/mask-rule.pure";
import { isSecretHeader, REDACTED } from "@/lib/guard/redaction/redact.pure";
import { headerText } from "@/lib/intake/dead-letter.pure";
import type { Clock } from "@/lib/platform/clock";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { createTurns } from "@/lib/platform/turns";
import type { MendFailure } from "@/lib/repair/mends/mending.pure";
import type { Recipe } from "@/lib/repair/recipes/recipes.shapes";
import { MendedMessage, type Message } from "./document";
import type { Evaluated, Expressions } from "./expressions";
import { MendFault } from "./fault";
import { compileForm, type Edit, RecipeFault } from "./form";
import { compileJsonPatch } from "./json-patch";
import { JsonValue } from "./json-value";
import { compileMergePatch } from "./merge-patch";
import { reshape } from "./reshape";

/** What a recipe does to one message. `places`: what was changed, for the record of the revision. */
export type Mended =
  | { kind: "changed"; message: Message; places: string[] }
  | { kind: "unchanged" }
  | { kind: "failed"; code: MendFailure; detail: string | null };

export type MendLimits = {
  payloadBytesMax: number;
  /** The viewer may not reveal: whatever reads or changes what these rules mask fails. null = the viewer may. */
  masks: MaskSet | null;
  /** The rules in force: headers that they mask are given to no expression. */
  inForce: MaskSet;
  /** For whom it is: see `Expressions.evaluate`. */
  asker: string;
};

export type MendDeps = { clock: Clock; expressions: Expressions };

/** Applies one recipe to any number of messages, in turns with other work. */
export type Mender = (messages: readonly Message[]) => Promise<Mended[]>;

/** A recipe may insert more text than it finally leaves: at most this many times the payload limit. */
const GROWTH = 4;
/** Places that are kept of one revision. */
const PLACES_MAX = 100;

/** Throws DomainError `invalid-recipe` for a recipe that cannot be applied to anything, or that means two things. */
export async function compileRecipe(deps: MendDeps, recipe: Recipe, limits: MendLimits): Promise<Mender> {
  // A patch may be JSON as text, whose escapes are escaped once more here.
  if (holdsMask(JSON.stringify(recipe).replaceAll("\\\\", "\\"))) {
    throw invalidRecipe(
      "recipe",
      `holds the mask ${REDACTED}, which would be stored as a value: give the value itself`,
    );
  }
  try {
    if (recipe.kind === "jsonata") return await compileExpression(deps, recipe.expression, limits);
    const edit = compileEdit(recipe);
    const apply = (message: Message) => mended(message, limits, edit);
    return (messages) => inTurns(deps, messages, apply);
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

function compileEdit(recipe: Exclude<Recipe, { kind: "jsonata" }>): Edit {
  switch (recipe.kind) {
    case "form":
      return compileForm(recipe);
    case "json-patch":
      return compileJsonPatch(recipe);
    case "merge-patch":
      return compileMergePatch(recipe);
  }
}

async function inTurns<Input, Output>(
  { clock }: MendDeps,
  inputs: readonly Input[],
  apply: (input: Input) => Output,
): Promise<Output[]> {
  const outputs: Output[] = [];
  const turns = createTurns(clock);
  for (const input of inputs) {
    outputs.push(apply(input));
    if (turns.due()) await turns.give();
  }
  return outputs;
}

function mended(
  message: Message,
  { masks, payloadBytesMax }: MendLimits,
  edit: Edit,
  made = new MendedMessage(message, masks, GROWTH * payloadBytesMax + message.payload.byteLength),
): Mended {
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

async function compileExpression(deps: MendDeps, expression: string, limits: MendLimits): Promise<Mender> {
  if (limits.masks !== null) {
    throw new DomainError(
      "forbidden",
      "An expression can read masked fields, which you may not reveal: use a form or a patch",
      {
        fields: [{ field: "recipe.kind", detail: "needs the right to reveal" }],
      },
    );
  }
  const { asker, payloadBytesMax: charsMax } = limits;
  const evaluate = async (
    inputs: { payload: string; headers: string }[],
    take: (results: readonly Evaluated[]) => void,
  ) => {
    const unusable = await deps.expressions.evaluate({ asker, expression, inputs, charsMax }, take);
    if (unusable) throw new RecipeFault("recipe.expression", unusable.unusable);
  };
  await evaluate([], () => undefined);
  return async (messages) => {
    const outputs: Mended[] = messages.map(() => failed("not-json", null));
    const read = await inTurns(deps, messages, (message) => {
      const made = new MendedMessage(message, null);
      return { made, payload: textOf(made), headers: headersJson(message.headers, limits.inForce) };
    });
    const work = read.flatMap(({ payload, ...rest }, index) => (payload === null ? [] : [{ ...rest, payload, index }]));
    const apply = ({ index, made }: (typeof work)[number], result: Evaluated) => {
      outputs[index] =
        "fault" in result
          ? failed(result.fault, result.detail)
          : mended(messages[index]!, limits, () => reshape(made, JsonValue.of(result.text)), made);
    };
    let taken = 0;
    let applied: Promise<unknown> = Promise.resolve();
    await evaluate(
      work.map(({ payload, headers }) => ({ payload, headers })),
      (results) => {
        const pairs = results.map((result) => [work[taken++]!, result] as const);
        // The first results are applied while the other process works on the next.
        applied = applied.then(() => inTurns(deps, pairs, ([input, result]) => apply(input, result)));
        // It is awaited below.
        applied.catch(() => undefined);
      },
    );
    await applied;
    return outputs;
  };
}

/** null = the payload is no JSON. */
function textOf(message: MendedMessage): string | null {
  try {
    return message.text();
  } catch {
    return null;
  }
}

/**
 * Text by name; a name that repeats has a list. A credential is shown to nobody, and so it is left out, as is what the rules
 * mask.
 */
function headersJson(headers: Message["headers"], inForce: MaskSet): string {
  const masked = maskHeaders(headers, inForce);
  const shown = headers.filter((header, index) => !isSecretHeader(header[0]) && masked[index]![1] === header[1]);
  const byName = Map.groupBy(shown, ([name]) => name);
  return JSON.stringify(
    Object.fromEntries(
      [...byName].map(([name, same]) => {
        const texts = same.map(headerText);
        return [name, texts.length === 1 ? texts[0] : texts];
      }),
    ),
  );
}
