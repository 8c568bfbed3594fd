import { POLICY_PRESETS } from "@/lib/retry/policy";
import { preciseDuration } from "./policy-view";

export type Body = Readonly<Record<string, unknown>>;
type Path = readonly string[];

export type PolicyField =
  | { kind: "number"; path: Path; label: string; unit: string; usual: unknown; hint?: string }
  /** Numbers or codes, separated by spaces or commas. */
  | { kind: "list"; path: Path; label: string; of: "numbers" | "codes"; usual: unknown; hint?: string }
  | {
      kind: "choice";
      path: Path;
      label: string;
      value: string;
      options: { value: string; label: string }[];
      choose: (value: string) => Body;
      hint?: string;
    };

export type PolicyPart = { title: string; about: string; fields: PolicyField[] };

export type PresetName = keyof typeof POLICY_PRESETS;
export const PRESET_NAMES = Object.keys(POLICY_PRESETS) as PresetName[];
export const PRESET_WORDS: Record<PresetName, string> = {
  interactive: "interactive: a person waits, 2.5 s",
  "slow-lane": "slow-lane: no person waits, long delays",
  ladder: "ladder: delays that are known in advance",
};

export function valueAt(body: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), body);
}

/** A copy with the value at `path` changed. Other fields, known to the form or not, keep their values and places. */
export function withValueAt(body: Body, [key, ...rest]: Path, value: unknown): Body {
  if (key === undefined) return body;
  const at = body[key];
  return { ...body, [key]: rest.length === 0 ? value : withValueAt(isObject(at) ? at : {}, rest, value) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A typed number; text that is none stays text, so that the rules of a policy name the fault. Empty = null. */
export function typedNumber(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  const number = Number(trimmed);
  return Number.isFinite(number) ? number : trimmed;
}

/** A typed list; no numbers = null. No codes are an empty list, which the rules of a policy refuse: null would repeat every failure. */
export function typedList(text: string, of: "numbers" | "codes"): unknown {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== "");
  if (entries.length === 0) return of === "numbers" ? null : [];
  return of === "numbers" ? entries.map(typedNumber) : entries;
}

/** How a value is shown in a field. */
export function shownValue(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(shownValue).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** `= 3 s`, of milliseconds that are easier to read so. */
export function msWords(value: unknown): string | null {
  return typeof value === "number" && value >= 1_000 ? `= ${preciseDuration(value)}` : null;
}

/** The parts of a policy's form, in the order in which a policy is designed. `preset`: whose values are shown as usual. */
export function policyParts(body: Body, preset: PresetName): PolicyPart[] {
  const fields = fieldsOf(body, POLICY_PRESETS[preset]);
  return [
    semantics(body, fields),
    key(),
    timeout(body, fields),
    retry(body, fields),
    budget(body, fields),
    breaker(body, fields),
    healing(body, fields),
  ];
}

type Fields = ReturnType<typeof fieldsOf>;

function fieldsOf(body: Body, usual: unknown) {
  const number = (path: string, label: string, unit: string, hint?: string): PolicyField => {
    const at = path.split(".");
    return { kind: "number", path: at, label, unit, usual: valueAt(usual, at), hint };
  };
  return {
    number,
    ms: (path: string, label: string, hint?: string) => number(path, label, "ms", hint),
    list: (path: string, label: string, of: "numbers" | "codes", hint?: string): PolicyField => {
      const at = path.split(".");
      return { kind: "list", path: at, label, of, usual: valueAt(usual, at), hint };
    },
    /** A choice between whole values of the field at `path`. The value that is chosen already stays as it is. */
    choice: (
      path: string,
      label: string,
      {
        value,
        options,
        hint,
      }: { value: string; options: readonly { value: string; label: string; body: unknown }[]; hint?: string },
    ): PolicyField => ({
      kind: "choice",
      path: path.split("."),
      label,
      value,
      options: options.map((option) => ({ value: option.value, label: option.label })),
      choose: (chosen) => {
        const option = options.find((each) => each.value === chosen);
        return chosen === value || option === undefined ? body : withValueAt(body, path.split("."), option.body);
      },
      hint,
    }),
  };
}

/** The `kind` of a variant, `none` for null or absent, and its own text for what is neither. */
function kindAt(body: Body, path: string): string {
  const value = valueAt(body, path.split("."));
  if (value === null || value === undefined) return "none";
  return isObject(value) && typeof value.kind === "string" ? value.kind : "other";
}

const isSet = (body: Body, path: string) => (isObject(valueAt(body, path.split("."))) ? "on" : "off");

function semantics(body: Body, { list }: Fields): PolicyPart {
  const codes = Array.isArray(body.retryOn);
  const value = body.maxAttempts === 1 ? "never" : codes ? "listed" : "all";
  const attempts = body.maxAttempts === 1 ? 3 : body.maxAttempts;
  const bodies: Record<string, Body> = {
    never: { ...body, maxAttempts: 1 },
    all: { ...body, maxAttempts: attempts, retryOn: null },
    listed: { ...body, maxAttempts: attempts, retryOn: codes ? body.retryOn : [] },
  };
  return {
    title: "Semantics",
    about:
      "May a send be made twice? A target that is marked as not repeatable is not repeated, whatever the policy says.",
    fields: [
      {
        kind: "choice",
        path: ["semantics"],
        label: "May it be sent twice?",
        value,
        options: [
          { value: "never", label: "no: at most once" },
          { value: "all", label: "yes: after each failure that may pass" },
          { value: "listed", label: "only after listed failures" },
        ],
        choose: (chosen) => bodies[chosen] ?? body,
      },
      ...(value === "listed"
        ? [
            list(
              "retryOn",
              "Failures that are repeated",
              "codes",
              "codes such as HTTP_503, or types: transient, throttled, ambiguous, unknown",
            ),
          ]
        : []),
    ],
  };
}

function key(): PolicyPart {
  return {
    title: "Key",
    about:
      "Each repeat of an event carries the same Idempotency-Key. Its target must remember the key for at least W, and for as long as events wait here: its contract holds the window.",
    fields: [],
  };
}

function timeout(body: Body, { ms, number, choice }: Fields): PolicyPart {
  const phases = isSet(body, "phases");
  const dynamic = isSet(body, "dynamicTimeout");
  const whole = typeof body.attemptTimeoutMs === "number" ? body.attemptTimeoutMs : 3_000;
  return {
    title: "Timeout",
    about: "An attempt above the p99 of wait, work and network; the deadline below that of the callers.",
    fields: [
      ms("attemptTimeoutMs", "One attempt"),
      ms("deadlineMs", "Deadline of all attempts"),
      ms("marginMs", "Margin before the deadline"),
      choice("phases", "Phases of an attempt", {
        value: phases,
        options: [
          { value: "off", label: "one limit", body: null },
          { value: "on", label: "connect, first byte, whole", body: { connectMs: whole / 4, firstByteMs: whole } },
        ],
      }),
      ...(phases === "on"
        ? [ms("phases.connectMs", "Until connected"), ms("phases.firstByteMs", "Until the first byte")]
        : []),
      choice("dynamicTimeout", "Follows the latency", {
        value: dynamic,
        options: [
          { value: "off", label: "no", body: null },
          {
            value: "on",
            label: "yes, of the target",
            body: { quantile: 0.99, factor: 2, msMin: whole / 4, samplesMin: 50 },
          },
        ],
      }),
      ...(dynamic === "on"
        ? [
            number("dynamicTimeout.quantile", "Quantile", "0.5 to 0.999"),
            number("dynamicTimeout.factor", "Times", "×"),
            ms("dynamicTimeout.msMin", "At least"),
            number("dynamicTimeout.samplesMin", "After", "calls"),
          ]
        : []),
    ],
  };
}

function backoffFields(
  body: Body,
  path: string,
  { ms, number, list, choice }: Fields,
  none: string | null,
): PolicyField[] {
  const kind = kindAt(body, path);
  const jitter = valueAt(body, [path, "jitter"]) ?? { kind: "full" };
  // Only an exponential backoff has decorrelated jitter.
  const kept = isObject(jitter) && jitter.kind === "decorrelated" ? { kind: "full" } : jitter;
  const kinds = [
    ...(none === null ? [] : [{ value: "none", label: none, body: null }]),
    {
      value: "exponential",
      label: "exponential",
      body: { kind: "exponential", baseMs: 1_000, factor: 2, capMs: 30_000, jitter },
    },
    {
      value: "ladder",
      label: "ladder",
      body: { kind: "ladder", stepsMs: [200, 500, 1_200, 2_500, 5_000], jitter: kept },
    },
    { value: "linear", label: "linear", body: { kind: "linear", baseMs: 500, capMs: 5_000, jitter: kept } },
    { value: "fixed", label: "fixed", body: { kind: "fixed", delayMs: 500, jitter: kept } },
  ];
  const label = path === "backoff" ? "Backoff" : "Backoff when throttled";
  const own: Record<string, PolicyField[]> = {
    exponential: [
      ms(`${path}.baseMs`, "First delay"),
      number(`${path}.factor`, "Grows by", "×"),
      ms(`${path}.capMs`, "Longest delay"),
    ],
    ladder: [list(`${path}.stepsMs`, "Delays, ms", "numbers", "one for each repeat, the last for all further ones")],
    linear: [ms(`${path}.baseMs`, "Grows by"), ms(`${path}.capMs`, "Longest delay")],
    fixed: [ms(`${path}.delayMs`, "Delay")],
  };
  const chosen = choice(path, label, { value: kind, options: kinds });
  if (kind === "none" || own[kind] === undefined) return [chosen];
  const jitters = [
    { value: "full", label: "full: from 0", body: { kind: "full" } },
    { value: "equal", label: "equal: from the half", body: { kind: "equal" } },
    { value: "fraction", label: "± a share", body: { kind: "fraction", fraction: 0.2 } },
    { value: "absolute", label: "± a time", body: { kind: "absolute", ms: 100 } },
    ...(kind === "exponential"
      ? [{ value: "decorrelated", label: "decorrelated", body: { kind: "decorrelated" } }]
      : []),
    { value: "none", label: "none: all at once", body: { kind: "none" } },
  ];
  const spread = valueAt(body, [path, "jitter", "kind"]);
  return [
    chosen,
    ...own[kind],
    choice(`${path}.jitter`, "Jitter", { value: typeof spread === "string" ? spread : "other", options: jitters }),
    ...(spread === "fraction" ? [number(`${path}.jitter.fraction`, "Share", "0 to 1")] : []),
    ...(spread === "absolute" ? [ms(`${path}.jitter.ms`, "Time")] : []),
  ];
}

function retry(body: Body, fields: Fields): PolicyPart {
  const { ms, number, choice } = fields;
  const hedge = isSet(body, "hedge");
  return {
    title: "Retry",
    about: "W, all attempts and their longest delays, must fit the deadline less its margin.",
    fields: [
      number("maxAttempts", "Attempts", "with the first"),
      ...backoffFields(body, "backoff", fields, null),
      ...backoffFields(body, "throttledBackoff", fields, "the same"),
      ms("retryAfterMsMax", "Longest Retry-After", "a longer one defers by this"),
      choice("hedge", "Hedging", {
        value: hedge,
        options: [
          { value: "off", label: "off", body: null },
          { value: "on", label: "a second send in parallel", body: { delayMs: 500, sendsMax: 2 } },
        ],
      }),
      ...(hedge === "on"
        ? [ms("hedge.delayMs", "Second send after"), number("hedge.sendsMax", "Sends at most", "2 to 10")]
        : []),
    ],
  };
}

function budget(body: Body, { ms, number, choice }: Fields): PolicyPart {
  const kind = kindAt(body, "budget");
  const own: Record<string, PolicyField[]> = {
    ratio: [
      number("budget.ratio", "Repeats per request", "share"),
      ms("budget.windowMs", "Counted over"),
      number("budget.floorPerSecond", "Always allowed", "a second"),
      number("budget.ceilingPerSecond", "At most", "a second", "empty: no ceiling"),
    ],
    quota: [
      number("budget.capacity", "Repeats in the bucket", "tokens"),
      number("budget.reward", "Back for a success", "tokens"),
    ],
    "in-flight": [
      number("budget.ratio", "Share of the sends under way", "0 to 1"),
      number("budget.retriesMin", "Always allowed", "at once"),
    ],
  };
  return {
    title: "Budget",
    about: "How much load repeats may add. At several layers only the innermost repeats.",
    fields: [
      choice("budget", "Budget", {
        value: kind,
        options: [
          { value: "ratio", label: "a share of the requests", body: POLICY_PRESETS["slow-lane"].budget },
          {
            value: "quota",
            label: "a bucket that successes fill",
            body: { kind: "quota", capacity: 500, cost: { transient: 5, throttled: 5 }, reward: 1 },
          },
          {
            value: "in-flight",
            label: "a share of the sends under way",
            body: { kind: "in-flight", ratio: 0.2, retriesMin: 3 },
          },
          { value: "unlimited", label: "unlimited", body: { kind: "unlimited" } },
        ],
      }),
      ...(own[kind] ?? []),
      ...(kind === "ratio"
        ? [
            choice("budget.deposit", "Filled by", {
              value: shownValue(valueAt(body, ["budget", "deposit"])),
              options: [
                { value: "request", label: "each request", body: "request" },
                { value: "success", label: "each success", body: "success" },
              ],
            }),
          ]
        : []),
      ...(kind === "ratio" || kind === "quota"
        ? [
            number("budget.cost.transient", "Cost of a repeat", "tokens"),
            number("budget.cost.throttled", "Cost when throttled", "tokens"),
          ]
        : []),
    ],
  };
}

function breaker(body: Body, { ms, number, choice }: Fields): PolicyPart {
  const { breaker: usual } = POLICY_PRESETS["slow-lane"];
  const kind = isSet(body, "breaker") === "off" ? "none" : kindAt(body, "breaker.trip");
  const now = isObject(body.breaker) ? body.breaker : usual;
  const rates = { callsMin: 10, failureRatio: 0.5, slowCallMs: null, slowRatio: 1 };
  const shares = [
    number("breaker.trip.callsMin", "After at least", "calls"),
    number("breaker.trip.failureRatio", "Opens at failures of", "share"),
    ms("breaker.trip.slowCallMs", "Slow from", "empty: slow calls do not count"),
    number("breaker.trip.slowRatio", "Opens at slow calls of", "share"),
  ];
  const own: Record<string, PolicyField[]> = {
    consecutive: [number("breaker.trip.failures", "Opens after", "failures in a row")],
    count: [number("breaker.trip.size", "The last", "calls"), ...shares],
    time: [ms("breaker.trip.windowMs", "Counted over"), ...shares],
  };
  const overload = isSet(body, "stopOnOverload");
  return {
    title: "Breaker",
    about: "When nothing is sent, and how it is found that the target is back.",
    fields: [
      choice("breaker", "Breaker", {
        value: kind,
        options: [
          { value: "none", label: "none", body: null },
          {
            value: "time",
            label: "by the share over a time",
            body: { ...now, trip: { kind: "time", windowMs: 30_000, ...rates } },
          },
          {
            value: "count",
            label: "by the share of the last calls",
            body: { ...now, trip: { kind: "count", size: 100, ...rates } },
          },
          {
            value: "consecutive",
            label: "by failures in a row",
            body: { ...now, trip: { kind: "consecutive", failures: 5 } },
          },
        ],
      }),
      ...(kind === "none"
        ? []
        : [
            ...(own[kind] ?? []),
            ms("breaker.openMs", "Open for"),
            ms("breaker.openMsMax", "Open at most"),
            number("breaker.probes", "Probes that close it", "successes"),
            ms("breaker.probeEveryMs", "One probe every", "0: probes pass at once"),
            ms("breaker.probeMsMax", "A probe is lost after"),
          ]),
      choice("stopOnOverload", "Sends less to an overloaded target", {
        value: overload,
        options: [
          { value: "off", label: "no", body: null },
          { value: "on", label: "yes, by the share it accepts", body: { k: 2, windowMs: 30_000 } },
        ],
      }),
      ...(overload === "on"
        ? [number("stopOnOverload.k", "Sends per accepted one", "×"), ms("stopOnOverload.windowMs", "Counted over")]
        : []),
    ],
  };
}

function healing(body: Body, { ms, number, choice }: Fields): PolicyPart {
  const on = isSet(body, "healing");
  return {
    title: "Alarms and self-healing",
    about:
      "Shares of a target's calls from which its delays grow and its rate falls by steps. Alerts tell when a breaker opens, a step is taken or a contract is broken.",
    fields: [
      choice("healing", "Self-healing", {
        value: on,
        options: [
          { value: "off", label: "off", body: null },
          { value: "on", label: "on", body: POLICY_PRESETS["slow-lane"].healing },
        ],
      }),
      ...(on === "on"
        ? [
            number("healing.retryRatio", "Repeats above", "share"),
            number("healing.timeoutRatio", "Timeouts above", "share"),
            number("healing.queueRatio", "Queue above", "× permits", "empty: not watched"),
            number("healing.callsMin", "After at least", "calls"),
            ms("healing.windowMs", "Counted over"),
            number("healing.stepFactor", "Each step", "×"),
            number("healing.stepsMax", "Steps at most", "1 to 10"),
            number("healing.quietRatio", "Quiet below", "share of the bounds"),
            ms("healing.cooldownMs", "Rest between steps"),
          ]
        : []),
    ],
  };
}
