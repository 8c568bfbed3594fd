import { type Config, valueAt } from "@/components/sources/form/source-draft";
import { POLICY_PRESETS } from "@/lib/retry/policy";

export type PolicyField = {
  path: readonly string[];
  label: string;
  /** `list`: numbers, separated by spaces or commas. */
  holds: "ms" | "count" | "list";
  hint?: string;
};

type PolicyStep = { title: string; about: string; fields: PolicyField[] };

export type PresetName = keyof typeof POLICY_PRESETS;
export const PRESET_NAMES = Object.keys(POLICY_PRESETS) as PresetName[];
export const PRESET_WORDS: Record<PresetName, string> = {
  interactive: "interactive: a person waits, 2.5 s",
  "slow-lane": "slow-lane: no person waits, long delays",
  ladder: "ladder: delays that are known in advance",
  adaptive: "adaptive: slow-lane, with timeouts that follow the target's latency",
};

/** What was typed into a field; nothing is null. Text that is no number stays text, so that the rules of a policy name the fault. */
export function typedValue({ holds }: Pick<PolicyField, "holds">, text: string): unknown {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== "");
  if (entries.length === 0) return null;
  return holds === "list" ? entries.map(numberOf) : numberOf(text.trim());
}

function numberOf(text: string): number | string {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

export function shownValue(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(shownValue).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The delays of a backoff; one of a kind that is not known here has none, and is edited as JSON. */
const DELAYS = new Map<unknown, PolicyField[]>([
  ["exponential", [ms("backoff.baseMs", "First delay"), ms("backoff.capMs", "Longest delay")]],
  ["linear", [ms("backoff.baseMs", "Grows by"), ms("backoff.capMs", "Longest delay")]],
  ["fixed", [ms("backoff.delayMs", "Delay")]],
  [
    "ladder",
    [
      {
        ...ms("backoff.stepsMs", "Delays, ms"),
        holds: "list",
        hint: "one for each retry; the last applies to all further retries",
      },
    ],
  ],
]);

function ms(path: string, label: string): PolicyField {
  return { path: path.split("."), label, holds: "ms" };
}

/** A policy in the order in which it is designed, with what is changed on call. All its other values are edited as JSON. */
export function policySteps(body: Config): PolicyStep[] {
  return [
    {
      title: "Semantics",
      about:
        "Can an event be sent twice? With one attempt, never. The JSON says which failures are retried. A target that is marked as not repeatable gets no retries, whatever the policy says.",
      fields: [],
    },
    { title: "Key", about: "Every retry of an event carries the same Idempotency-Key.", fields: [] },
    {
      title: "Window",
      about:
        "The target must remember the key for at least W (all attempts and their longest delays), and for as long as events wait here: see its contract.",
      fields: [],
    },
    {
      title: "Timeout",
      about: "Above the p99 of wait, work and network.",
      fields: [ms("attemptTimeoutMs", "One attempt")],
    },
    {
      title: "Retries",
      about: "The attempts, with the first, and the delays between them.",
      fields: [
        { path: ["maxAttempts"], label: "Attempts", holds: "count" },
        ...(DELAYS.get(valueAt(body, ["backoff", "kind"])) ?? []),
      ],
    },
    {
      title: "Deadline",
      about:
        "W (all attempts and their longest delays) must fit within the deadline minus its margin. The deadline must be below that of the callers.",
      fields: [ms("deadlineMs", "Deadline of all attempts"), ms("marginMs", "Margin before it")],
    },
    {
      title: "Alarms",
      about:
        "Alerts are sent when a breaker opens, healing takes a step or a contract is broken. The budget, the breaker and healing are in the JSON.",
      fields: [],
    },
  ];
}
