import { CONTRACT_DEFAULTS, type Contract } from "@/lib/sources/contracts/contract.pure";

/** The numbers of a contract's form, in the order in which a policy is designed. `max` null = no bound but the server's. */
export const CONTRACT_FIELDS = [
  { name: "dedupWindowMs", label: "Key: dedup window, ms", max: 604_800_000 },
  { name: "reorderingSpanMs", label: "Key: reordering span, ms", max: 604_800_000 },
  { name: "promisedLatencyMs", label: "Timeout: latency p99, ms", max: 604_800_000 },
  { name: "callerDeadlineMs", label: "Timeout: deadline of the callers, ms", max: 604_800_000 },
  { name: "marginMs", label: "Timeout: margin, ms", max: 604_800_000 },
  { name: "promisedSuccess", label: "Retry: share that succeeds", max: 1 },
  { name: "budgetRatio", label: "Budget: repeats per operation", max: 1 },
  { name: "expectedPerSecond", label: "Breaker: arrivals per second", max: 1_000_000 },
  { name: "loadMax", label: "Breaker: share of the capacity", max: 1 },
  { name: "timeoutRatio", label: "Alarms: timeouts per operation", max: 1 },
] as const satisfies readonly { name: keyof Contract; label: string; max: number }[];

type NumberName = (typeof CONTRACT_FIELDS)[number]["name"];
export type ContractDraft = Pick<Contract, "semantics" | "criticality"> & Record<NumberName, string>;

export function contractDraft(contract: Contract | null): ContractDraft {
  const from = contract ?? CONTRACT_DEFAULTS;
  const numbers = CONTRACT_FIELDS.map(({ name }) => [name, from[name] === null ? "" : String(from[name])]);
  return { semantics: from.semantics, criticality: from.criticality, ...Object.fromEntries(numbers) };
}

export type ContractErrors = Partial<Record<NumberName, string>>;

/** The typed contract, or what is wrong by field. An empty number is not promised, or has its default. */
export function contractOf(draft: ContractDraft): { contract: Contract } | { errors: ContractErrors } {
  const errors: ContractErrors = {};
  const contract: Contract = { ...CONTRACT_DEFAULTS, semantics: draft.semantics, criticality: draft.criticality };
  for (const { name, max } of CONTRACT_FIELDS) {
    const text = draft[name].trim();
    if (text === "") continue;
    const value = Number(text);
    if (!(value >= 0 && value <= max) || (value === 0 && !name.endsWith("Ms"))) {
      errors[name] = `A number up to ${max.toLocaleString("en-US")}, or empty.`;
    } else contract[name] = value;
  }
  return Object.keys(errors).length > 0 ? { errors } : { contract };
}
