import type { BodyReader, DeadLetter, Header } from "@/lib/platform/plain/dead-letter.pure";
import { storable } from "@/lib/platform/plain/storable.pure";
import type { AdmissionMark, AdmissionRecord, RuleRef } from "@/lib/states/admission-mark.pure";

/**
 * Admission: rules that people write, applied to each dead letter before it is stored.
 *
 * The enabled rules of the letter's source are applied in their order, each to the letter as the rules before it left
 * it; of two rules that set the same thing the later one decides. A rule that drops the letter ends it. A rule that
 * fails is skipped and reported: the letter goes on as if the rule were not there.
 *
 * A rule only changes what is known about the event (error code, group, mark). Payload, headers and origin stay as they
 * arrived, because a redrive sends them.
 *
 * Patterns are literal texts and `*`. Regular expressions are not offered: a stranger chooses the text, and some
 * expressions need exponential time for it.
 */

export const TEXT_FIELDS = [
  "errorCode",
  "errorType",
  "errorMessage",
  "eventType",
  "aggregateType",
  "convention",
  "contentType",
] as const;
type TextField = (typeof TEXT_FIELDS)[number];
export const NUMBER_FIELDS = ["payloadBytes", "attempts"] as const;
export const TEXT_TESTS = ["equals", "contains", "startsWith", "endsWith", "glob"] as const;
export const NUMBER_TESTS = ["above", "below"] as const;

type TextTest =
  | { is: (typeof TEXT_TESTS)[number]; value: string; ignoreCase?: boolean | undefined }
  | { is: "present" };
/** `not`: holds when the test does not. */
export type Condition = { not?: boolean | undefined } & (
  | ({ field: TextField } & TextTest)
  | ({ field: "header"; name: string } & TextTest)
  /** JSON pointer (RFC 6901) into the payload. */
  | ({ field: "body"; pointer: string } & TextTest)
  | { field: (typeof NUMBER_FIELDS)[number]; is: (typeof NUMBER_TESTS)[number]; value: number }
);

/** Where a rule takes an error code from. `errorType`: the name of the exception without its package. */
export type CodeSource =
  | { value: string }
  | { from: "errorType" }
  | { from: "header"; name: string }
  | { from: "body"; pointer: string };

export type RuleEffect = {
  errorCode?: CodeSource | undefined;
  /** Label of the group; one group for each error code. */
  group?: string | undefined;
  park?: "early" | "confirm" | undefined;
  drop?: true | undefined;
};

/** All conditions must hold; none = every letter. */
export type RuleBody = { when: Condition[]; do: RuleEffect };

/** `source`: name of the only source that it applies to; null = all. */
export type AdmissionRule = RuleBody & { id: string; name: string; version: number; source: string | null };

export type Admitted = {
  letter: DeadLetter;
  /** null = grouped by its failure, see `events/groups/fingerprint.pure`. */
  group: string | null;
  mark: Exclude<AdmissionMark, "superseded"> | null;
  /** The rule that drops the letter; null = it is parked. */
  dropped: RuleRef | null;
  matched: RuleRef[];
  failed: (RuleRef & { fault: string })[];
};

/** Characters of a text that a condition reads: an error message may have 65,536, and every rule reads it. */
export const TESTED_CHARS_MAX = 8_192;

export function admit(letter: DeadLetter, rules: readonly AdmissionRule[], body: BodyReader): Admitted {
  const admitted: Admitted = { letter, group: null, mark: null, dropped: null, matched: [], failed: [] };
  for (const rule of rules) {
    const { id, name, version } = rule;
    try {
      if (!rule.when.every((condition) => holds(condition, admitted.letter, body))) continue;
      if (rule.do.drop) {
        admitted.dropped = { id, name, version };
        break;
      }
      apply(rule.do, admitted, body);
      admitted.matched.push({ id, name, version });
    } catch (error) {
      admitted.failed.push({ id, name, version, fault: error instanceof Error ? error.message : String(error) });
    }
  }
  return admitted;
}

function apply({ errorCode, group, park }: RuleEffect, admitted: Admitted, body: BodyReader): void {
  const code = errorCode === undefined ? null : codeFrom(errorCode, admitted.letter, body);
  if (code !== null) admitted.letter = storable({ ...admitted.letter, errorCode: code });
  if (group !== undefined) admitted.group = group;
  // A permanent failure says more than a question: the question does not replace it.
  if (park !== undefined && admitted.mark !== "early") admitted.mark = park;
}

/** null = there is no such value, and the error code stays. */
function codeFrom(code: CodeSource, letter: DeadLetter, body: BodyReader): string | null {
  if ("value" in code) return code.value;
  switch (code.from) {
    case "errorType":
      return (
        letter.error.type
          ?.split(/[.:/\\$]/)
          .findLast((part) => part.trim() !== "")
          ?.trim() ?? null
      );
    case "header":
      return (
        headerTexts(letter.headers, code.name)
          .find((text) => text?.trim())
          ?.trim() ?? null
      );
    case "body":
      return body(code.pointer).text?.trim() || null;
  }
}

function holds(condition: Condition, letter: DeadLetter, body: BodyReader): boolean {
  return test(condition, letter, body) !== (condition.not === true);
}

function test(condition: Condition, letter: DeadLetter, body: BodyReader): boolean {
  switch (condition.field) {
    case "payloadBytes":
    case "attempts": {
      const value = condition.field === "attempts" ? letter.attempts : letter.payload.byteLength;
      return condition.is === "above" ? value > condition.value : value < condition.value;
    }
    case "header": {
      const texts = headerTexts(letter.headers, condition.name);
      return condition.is === "present" ? texts.length > 0 : texts.some((text) => testText(condition, text));
    }
    case "body": {
      const { found, text } = body(condition.pointer);
      return condition.is === "present" ? found : testText(condition, text);
    }
    default: {
      const text = textOf(condition.field, letter);
      return condition.is === "present" ? text !== null : testText(condition, text);
    }
  }
}

function textOf(field: TextField, letter: DeadLetter): string | null {
  switch (field) {
    case "errorType":
      return letter.error.type;
    case "errorMessage":
      return letter.error.message;
    case "convention":
      return letter.origin.convention ?? null;
    default:
      return letter[field];
  }
}

/** Values of a header, by name without regard to case. null = no value, or bytes that are no text. */
function headerTexts(headers: readonly Header[], name: string): (string | null)[] {
  const wanted = name.toLowerCase();
  return headers
    .filter(([header]) => header.length === wanted.length && header.toLowerCase() === wanted)
    .map(([, value, encoding]) => (encoding === "bytes" ? null : value));
}

function testText(test: Exclude<TextTest, { is: "present" }>, whole: string | null): boolean {
  if (whole === null) return false;
  const cut = whole.slice(0, TESTED_CHARS_MAX);
  const [text, value] = test.ignoreCase ? [cut.toLowerCase(), test.value.toLowerCase()] : [cut, test.value];
  switch (test.is) {
    case "equals":
      return text === value && cut.length === whole.length;
    case "contains":
      return text.includes(value);
    case "startsWith":
      return text.startsWith(value);
    case "endsWith":
      return (test.ignoreCase ? whole.slice(-value.length).toLowerCase() : whole).endsWith(value);
    case "glob":
      return matchesGlob(text, value);
  }
}

/**
 * `*` stands for any text, every other character for itself; the whole text must match. Each part between stars is taken
 * at its first place behind the part before, and is never taken back: the time grows with the text, not with the stars.
 */
export function matchesGlob(text: string, glob: string): boolean {
  const parts = glob.split("*");
  const first = parts[0]!;
  if (parts.length === 1) return text === first;
  const last = parts.at(-1)!;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** null = the rules did nothing. */
export function admissionRecord(
  arrived: DeadLetter,
  { letter, group, matched, failed }: Pick<Admitted, "letter" | "group" | "matched" | "failed">,
): AdmissionRecord | null {
  if (matched.length === 0 && failed.length === 0) return null;
  return {
    rules: matched,
    ...(letter.errorCode === arrived.errorCode ? {} : { arrivedAs: arrived.errorCode }),
    ...(group === null ? {} : { group }),
    ...(failed.length === 0 ? {} : { failed }),
  };
}
