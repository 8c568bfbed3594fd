import { SOURCE_CONTRACT_DEFAULTS, type SourceContract } from "@/lib/sources/contracts/source-contract.pure";

/** The units in which the form takes times: people promise days for dead letters, and milliseconds for calls. */
const UNITS = { ms: 1, h: 3_600_000, d: 86_400_000 } as const;

/** The numbers of the form. `most` is in the field's unit, null = no bound but the server's. */
export const SOURCE_CONTRACT_FIELDS = [
  {
    name: "dedupWindowMs",
    unit: "d",
    label: "Dedup window, days",
    hint: "how long its consumers remember a key",
    most: 3_650,
  },
  {
    name: "reorderingSpanMs",
    unit: "d",
    label: "Reordering span, days",
    hint: "the longest time between two arrivals of one event; empty: as measured",
    most: 3_650,
  },
  {
    name: "promisedLatencyMs",
    unit: "h",
    label: "Resolved within, hours",
    hint: "from the time an event is parked",
    most: 87_600,
  },
  {
    name: "callerDeadlineMs",
    unit: "ms",
    label: "Deadline of its callers, ms",
    hint: "of callers that are not named below",
    most: 604_800_000,
  },
  {
    name: "marginMs",
    unit: "ms",
    label: "Margin, ms",
    hint: "before that deadline; empty: the policy's",
    most: 604_800_000,
  },
  { name: "budgetRatio", unit: null, label: "Retries per operation", hint: "0.1 when empty", most: 1 },
  { name: "duplicateRatio", unit: null, label: "Duplicates among arrivals", hint: "0.01 when empty", most: 1 },
  {
    name: "expectedPerSecond",
    unit: null,
    label: "Dead letters a second",
    hint: "empty: as counted in the last hour",
    most: 1_000_000,
  },
  { name: "loadMax", unit: null, label: "Share of the capacity", hint: "0.7 when empty", most: 1 },
] as const satisfies readonly {
  name: keyof SourceContract;
  unit: keyof typeof UNITS | null;
  label: string;
  hint: string;
  most: number;
}[];

type NumberName = (typeof SOURCE_CONTRACT_FIELDS)[number]["name"];
/** `callers`: names, one a line. */
type SourceContractDraft = { criticality: SourceContract["criticality"]; callers: string } & Record<NumberName, string>;

export function sourceContractDraft(contract: SourceContract | null): SourceContractDraft {
  const from = contract ?? SOURCE_CONTRACT_DEFAULTS;
  const numbers = SOURCE_CONTRACT_FIELDS.map(({ name, unit }) => {
    const value = from[name];
    return [name, value === null ? "" : String(unit === null ? value : value / UNITS[unit])];
  });
  return { criticality: from.criticality, callers: from.callers.join("\n"), ...Object.fromEntries(numbers) };
}

/** By the server's names, too: `contract.callers[0]` is a fault of `callers`. */
type SourceContractErrors = Partial<Record<NumberName | "callers", string>>;

/** The typed contract, or what is wrong by field. An empty number is not promised, or has its default. */
export function sourceContractOf(
  draft: SourceContractDraft,
): { contract: SourceContract } | { errors: SourceContractErrors } {
  const errors: SourceContractErrors = {};
  const callers = draft.callers.split(/[\s,]+/).filter((name) => name !== "");
  const contract: SourceContract = { ...SOURCE_CONTRACT_DEFAULTS, criticality: draft.criticality, callers };
  for (const { name, unit, most } of SOURCE_CONTRACT_FIELDS) {
    const text = draft[name].trim();
    if (text === "") continue;
    const value = Number(text);
    if (!(value >= 0 && value <= most) || (value === 0 && unit === null)) {
      errors[name] = `A number up to ${most.toLocaleString("en-US")}, or empty.`;
    } else contract[name] = unit === null ? value : Math.round(value * UNITS[unit]);
  }
  if (contract.callerDeadlineMs !== null && (contract.marginMs ?? 0) >= contract.callerDeadlineMs)
    errors.marginMs = "Must be below the deadline of the callers.";
  return Object.keys(errors).length > 0 ? { errors } : { contract };
}
