/** The `type` of each problem that Parkade answers with, before its code. */
const PROBLEM_TYPE = "urn:parkade:problem:";

export type ParkadeProblem = { code: string; detail: string };

/** What Parkade says is wrong. null: the answer is none of Parkade's, such as the error page of a gateway before it. */
export function problemOf(text: string): ParkadeProblem | null {
  try {
    const { type, code, detail } = JSON.parse(text) as Record<string, unknown>;
    const ours = typeof type === "string" && type.startsWith(PROBLEM_TYPE) && typeof code === "string";
    return ours ? { code, detail: String(detail ?? code) } : null;
  } catch {
    return null;
  }
}
