import type { Asked } from "@/components/ui/draft-dialog";
import { CONTRACT_DEFAULTS, type Contract } from "@/lib/sources/contracts/contract.pure";
import { SOURCE_CONTRACT_DEFAULTS, type SourceContract } from "@/lib/sources/contracts/source-contract.pure";

/** The units in which a form takes times: people promise days for dead letters, and milliseconds for calls. */
const UNITS = { ms: 1, h: 3_600_000, d: 86_400_000 } as const;

/** A number of a contract. `most` is in the field's unit. */
type NumberField<Name extends string> = {
  name: Name;
  label: string;
  hint: string;
  most: number;
  unit?: keyof typeof UNITS;
};
type Numbers<Name extends string> = Record<Name, string>;

const WEEK_MS = 604_800_000;

/** The numbers of a target's contract, in the order in which a policy is designed. */
export const CONTRACT_FIELDS = [
  { name: "dedupWindowMs", label: "Dedup window, ms", hint: "how long the target remembers a key", most: WEEK_MS },
  {
    name: "reorderingSpanMs",
    label: "Reordering span, ms",
    hint: "the longest time between two arrivals of one event",
    most: WEEK_MS,
  },
  { name: "promisedLatencyMs", label: "Latency p99, ms", hint: "of a send", most: WEEK_MS },
  { name: "callerDeadlineMs", label: "Caller deadline, ms", hint: "how long they wait", most: WEEK_MS },
  { name: "marginMs", label: "Margin, ms", hint: "before that deadline; empty: the policy's", most: WEEK_MS },
  { name: "promisedSuccess", label: "Success rate", hint: "of operations, such as 0.999", most: 1 },
  { name: "budgetRatio", label: "Retries per operation", hint: "0.1 when empty", most: 1 },
  {
    name: "expectedPerSecond",
    label: "Arrivals per second",
    hint: "empty: as sent in the last minute",
    most: 1_000_000,
  },
  { name: "loadMax", label: "Maximum load, share of capacity", hint: "0.7 when empty", most: 1 },
  { name: "timeoutRatio", label: "Timeouts per operation", hint: "0.005 when empty", most: 1 },
] as const satisfies readonly NumberField<keyof Contract>[];

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
    label: "Caller deadline, ms",
    hint: "of callers that are not named below",
    most: WEEK_MS,
  },
  {
    name: "marginMs",
    unit: "ms",
    label: "Margin, ms",
    hint: "before that deadline; empty: the policy's",
    most: WEEK_MS,
  },
  { name: "budgetRatio", label: "Retries per operation", hint: "0.1 when empty", most: 1 },
  { name: "duplicateRatio", label: "Duplicate rate", hint: "0.01 when empty", most: 1 },
  {
    name: "expectedPerSecond",
    label: "Dead letters per second",
    hint: "empty: as counted in the last hour",
    most: 1_000_000,
  },
  { name: "loadMax", label: "Maximum load, share of capacity", hint: "0.7 when empty", most: 1 },
] as const satisfies readonly NumberField<keyof SourceContract>[];

export const CRITICALITY = ["critical", "normal", "background"].map((value) => ({ value, label: value }));

function shown<Name extends string>(
  fields: readonly NumberField<Name>[],
  from: Record<Name, number | null>,
): Numbers<Name> {
  const texts = fields.map(({ name, unit = "ms" }) => [
    name,
    from[name] === null ? "" : String(from[name] / UNITS[unit]),
  ]);
  return Object.fromEntries(texts) as Numbers<Name>;
}

/** The typed numbers, and what is wrong by field. An empty number is left out; only a time may be 0. */
function typed<Name extends string>(fields: readonly NumberField<Name>[], draft: Numbers<Name>) {
  const numbers: Partial<Record<Name, number>> = {};
  const errors: Partial<Record<string, string>> = {};
  for (const { name, most, unit } of fields) {
    const text = draft[name].trim();
    if (text === "") continue;
    const value = Number(text);
    if (!(value >= 0 && value <= most) || (value === 0 && !name.endsWith("Ms")))
      errors[name] = `A number up to ${most.toLocaleString("en-US")}, or empty.`;
    else numbers[name] = unit === undefined ? value : Math.round(value * UNITS[unit]);
  }
  return { numbers, errors };
}

/** `semantics` empty = not promised. */
type ContractDraft = {
  semantics: NonNullable<Contract["semantics"]> | "";
  criticality: Contract["criticality"];
} & Numbers<(typeof CONTRACT_FIELDS)[number]["name"]>;

export function contractDraft(contract: Contract | null): ContractDraft {
  const from = contract ?? CONTRACT_DEFAULTS;
  return { semantics: from.semantics ?? "", criticality: from.criticality, ...shown(CONTRACT_FIELDS, from) };
}

/** An empty number is not promised, or has its default. */
export function contractOf(draft: ContractDraft): Asked<Contract> {
  const { numbers, errors } = typed(CONTRACT_FIELDS, draft);
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const { semantics, criticality } = draft;
  return { ok: true, request: { ...CONTRACT_DEFAULTS, ...numbers, semantics: semantics || null, criticality } };
}

/** `callers`: names, one a line. */
type SourceContractDraft = { criticality: SourceContract["criticality"]; callers: string } & Numbers<
  (typeof SOURCE_CONTRACT_FIELDS)[number]["name"]
>;

export function sourceContractDraft(contract: SourceContract | null): SourceContractDraft {
  const from = contract ?? SOURCE_CONTRACT_DEFAULTS;
  return {
    criticality: from.criticality,
    callers: from.callers.join("\n"),
    ...shown(SOURCE_CONTRACT_FIELDS, from),
  };
}

export function sourceContractOf(draft: SourceContractDraft): Asked<SourceContract> {
  const { numbers, errors } = typed(SOURCE_CONTRACT_FIELDS, draft);
  const callers = draft.callers.split(/[\s,]+/).filter((name) => name !== "");
  const contract = { ...SOURCE_CONTRACT_DEFAULTS, ...numbers, criticality: draft.criticality, callers };
  if (contract.callerDeadlineMs !== null && (contract.marginMs ?? 0) >= contract.callerDeadlineMs)
    errors.marginMs = "Must be below the deadline of the callers.";
  return Object.keys(errors).length > 0 ? { ok: false, errors } : { ok: true, request: contract };
}
