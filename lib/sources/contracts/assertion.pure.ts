/** One promise of a contract that can be checked, with its formula. Times in a formula are of one unit each. */
export type Assertion = {
  id: string;
  formula: string;
  /** The formula with its numbers put in. */
  numbers: string;
  result: "holds" | "broken" | "unknown";
  /** Why it is unknown; null otherwise. */
  reason: string | null;
};

export type ContractReport = { result: Assertion["result"]; assertions: Assertion[] };

/** As bad as its worst assertion: broken, then unknown. */
export function reportOf(assertions: Assertion[]): ContractReport {
  const worst = (["broken", "unknown", "holds"] as const).find((one) =>
    assertions.some(({ result }) => result === one),
  );
  return { result: worst ?? "unknown", assertions };
}

/** Fewer operations than this say nothing of a share: one failure of ten would be ten per cent. */
export const OPERATIONS_MIN = 20;

export function ratio(
  id: string,
  formula: string,
  facts: { operations: number; retries: number; timeouts: number } | null,
  part: "retries" | "timeouts",
  most: number,
): Assertion {
  const counted = { part: facts?.[part] ?? null, all: facts?.operations ?? null };
  return share(id, formula, { ...counted, most, what: "operations" });
}

/** `all` null = nothing was measured. `what`: its name, in the plural. */
export function share(
  id: string,
  formula: string,
  { part, all, most, what }: { part: number | null; all: number | null; most: number; what: string },
): Assertion {
  if (part === null || all === null || all < OPERATIONS_MIN) {
    const numbers = `${part ?? "?"} / ${all ?? "?"} <= ${most}`;
    return unknown(id, formula, numbers, `fewer than ${OPERATIONS_MIN} ${what} were counted`);
  }
  return judged(id, formula, `${part} / ${all} = ${rounded(part / all)} <= ${most}`, part / all <= most);
}

export const LOAD = "rho = arrivals / min(permits / latency p95, rate limit) <= loadMax";

/** Sends per second that a target takes: by Little's law, or by its rate limit if that is less. null = neither is known. */
export function capacityOf(
  ratePerSecond: number | null,
  measured: { permits: number; latencyP95Ms: number | null } | null,
): number | null {
  const latencyMs = measured?.latencyP95Ms ?? null;
  // A latency of less than a tenth of a millisecond is not measured.
  const byPermits = latencyMs === null ? null : (measured!.permits * 1_000) / Math.max(0.1, latencyMs);
  const limits = [byPermits, ratePerSecond].filter((one) => one !== null);
  return limits.length === 0 ? null : Math.min(...limits);
}

/** The load of one server, lambda / mu: at 1 its queue grows without bound. */
export function rho(arrivals: number, capacity: number | null, most: number): Assertion {
  if (capacity === null) return unknown("load", LOAD, `${rounded(arrivals)} / ? <= ${most}`, "no latency was measured");
  const share = arrivals / capacity;
  const numbers = `${rounded(arrivals)} / ${rounded(capacity)} = ${rounded(share)} <= ${most}`;
  return judged("load", LOAD, numbers, share <= most);
}

export function judged(id: string, formula: string, numbers: string, holds: boolean): Assertion {
  return { id, formula, numbers, result: holds ? "holds" : "broken", reason: null };
}

export function unknown(id: string, formula: string, numbers: string, reason: string): Assertion {
  return { id, formula, numbers, result: "unknown", reason };
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
] as const;

/** `2300 ms`, and from ten minutes on the largest unit of which it has two: `45 min`, `36 h`, `7 d`. */
export function msText(ms: number | null): string {
  if (ms === null) return "?";
  const unit = ms < 600_000 ? undefined : UNITS.find(([, size]) => ms >= 2 * size);
  return unit ? `${Number((ms / unit[1]).toPrecision(6))} ${unit[0]}` : `${rounded(ms)} ms`;
}

export function rounded(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** A report for a review, as Markdown. `of`: the target's name, or `source` and its name. */
export function reportMarkdown(of: string, { result, assertions }: ContractReport): string {
  const cell = (text: string) => text.replaceAll("|", "\\|");
  const rows = assertions.map(
    (each) =>
      `| ${each.id} | ${each.result}${each.reason === null ? "" : `: ${cell(each.reason)}`} | ${cell(each.formula)} | ${cell(each.numbers)} |`,
  );
  return `## ${of}: ${result}\n\n| assertion | result | formula | numbers |\n| --- | --- | --- | --- |\n${rows.join("\n")}\n`;
}
