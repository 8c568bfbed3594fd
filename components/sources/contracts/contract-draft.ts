import { CONTRACT_DEFAULTS, type Contract } from "@/lib/sources/contracts/contract.pure";

/** The numbers of a contract's form, in the order in which a policy is designed. `max` null = no bound but the server's. */
export const CONTRACT_FIELDS = [
  { name: "dedupWindowMs", label: "Dedup window, ms", hint: "how long the target remembers a key", max: 604_800_000 },
  {
    name: "reorderingSpanMs",
    label: "Reordering span, ms",
    hint: "the longest time between two arrivals of one event",
    max: 604_800_000,
  },
  { name: "promisedLatencyMs", label: "Latency p99, ms", hint: "of a send", max: 604_800_000 },
  { name: "callerDeadlineMs", label: "Deadline of its callers, ms", hint: "how long they wait", max: 604_800_000 },
  { name: "marginMs", label: "Margin, ms", hint: "before that deadline; empty: the policy's", max: 604_800_000 },
  { name: "promisedSuccess", label: "Share that succeeds", hint: "of operations, such as 0.999", max: 1 },
  { name: "budgetRatio", label: "Retries per operation", hint: "0.1 when empty", max: 1 },
  { name: "expectedPerSecond", label: "Arrivals a second", hint: "empty: as sent in the last minute", max: 1_000_000 },
  { name: "loadMax", label: "Share of the capacity", hint: "0.7 when empty", max: 1 },
  { name: "timeoutRatio", label: "Timeouts per operation", hint: "0.005 when empty", max: 1 },
] as const satisfies readonly { name: keyof Contract; label: string; hint: string; max: number }[];

export const CRITICALITY = ["critical", "normal", "background"].map((value) => ({ value, label: value }));

type NumberName = (typeof CONTRACT_FIELDS)[number]["name"];
type ContractDraft = Pick<Contract, "semantics" | "criticality"> & Record<NumberName, string>;

export function contractDraft(contract: Contract | null): ContractDraft {
  const from = contract ?? CONTRACT_DEFAULTS;
  const numbers = CONTRACT_FIELDS.map(({ name }) => [name, from[name] === null ? "" : String(from[name])]);
  return { semantics: from.semantics, criticality: from.criticality, ...Object.fromEntries(numbers) };
}

type ContractErrors = Partial<Record<NumberName, string>>;

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
