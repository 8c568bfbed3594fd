import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fingerprintOf } from "../fingerprint.pure";

/**
 * Pairs of real errors of fifteen languages and of the servers and brokers around them, from public issues with personal
 * details replaced: `one` names two events of one cause, `two` two causes that look alike. Pairs whose kind begins with
 * "control" must all be right.
 */
type Failure = { errorCode?: string; type?: string | null; message?: string | null; stack?: string | null };
type Pair = { source: string; language: string; kind: string; want: string; a: Failure; b: Failure };

const RIGHT_AT_LEAST = 0.95;

const fingerprint = ({ errorCode = "UNHANDLED_EXCEPTION", type = null, message = null, stack = null }: Failure) =>
  fingerprintOf({ errorCode, error: { type, message, stack } }).fingerprint;

const isRight = ({ a, b, want }: Pair) => (fingerprint(a) === fingerprint(b)) === (want === "one");

const describePair = ({ source, language, kind, want }: Pair) => `${language}, ${kind}: want ${want} (${source})`;

describe("pairs of errors from public issues", () => {
  const pairs = readFileSync(new URL("corpus.jsonl", import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Pair);

  test("at least 95 of 100 are grouped as a person would group them", () => {
    const wrong = pairs.filter((pair) => !isRight(pair)).map(describePair);
    expect(pairs.length).toBeGreaterThanOrEqual(200);
    expect(wrong.length, wrong.join("\n")).toBeLessThanOrEqual(pairs.length * (1 - RIGHT_AT_LEAST));
  });

  test.each(pairs.filter(({ kind }) => kind.startsWith("control")).map((pair) => [describePair(pair), pair] as const))(
    "%s",
    (_, pair) => expect(isRight(pair)).toBe(true),
  );
});
