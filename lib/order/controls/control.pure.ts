import { NO_AGGREGATE_TYPE } from "@/lib/order/aggregate.pure";

/**
 * Controls in force. A blacklist refuses, a cooldown refuses until it expires, a whitelist overrides cooldowns and the
 * blacklist that Parkade itself imposed, never a blacklist set by a person.
 */
export type ControlKind = "blacklist" | "whitelist" | "cooldown";
export type ControlScope = "eventId" | "aggregateId" | "errorCode" | "source";

export type StoredScope = {
  scope: ControlScope;
  value: string;
  /**
   * Name of the only source that the control applies to; null = all sources. Also null for the scope `source`, whose
   * value is the source.
   */
  source: string | null;
  /** For the scope `aggregateId`: the only type of aggregate that the control applies to; null = all types, "" = those of no type. */
  aggregateType: string | null;
};

/** The same scope as the API sends it: `{ aggregateId: "42", aggregateType: "order", source: "orders" }`. */
export function scopeOut({ scope, value, source, aggregateType }: StoredScope): Record<string, string> {
  return { [scope]: value, ...(aggregateType ? { aggregateType } : {}), ...(source === null ? {} : { source }) };
}

export type Control = StoredScope & {
  id: string;
  kind: ControlKind;
  origin: "person" | "automatic";
  expiresAtMs: number | null;
};

/** The parts of an event that a control can match. `source` is the name of the source. */
export type ControlFacts = {
  eventId: string;
  aggregateType: string | null;
  aggregateId: string | null;
  errorCode: string;
  source: string;
};

/** Lookup by scope and value: deciding one event costs four map reads, however many controls exist. */
export type ControlIndex<Of extends Control = Control> = ReadonlyMap<string, readonly Of[]>;

function key(scope: ControlScope, value: string): string {
  return `${scope}\u0000${value}`;
}

export function indexControls<Of extends Control>(controls: readonly Of[]): ControlIndex<Of> {
  const index = new Map<string, Of[]>();
  for (const control of controls) {
    const at = key(control.scope, control.value);
    const known = index.get(at);
    if (known) known.push(control);
    else index.set(at, [control]);
  }
  return index;
}

/** Controls in force at `nowMs` that apply to the event, any scope. */
export function applyingControls<Of extends Control>(
  index: ControlIndex<Of>,
  facts: ControlFacts,
  nowMs: number,
): Of[] {
  if (index.size === 0) return [];
  const found = [
    ...(index.get(key("eventId", facts.eventId)) ?? []),
    ...(facts.aggregateId === null ? [] : (index.get(key("aggregateId", facts.aggregateId)) ?? [])),
    ...(index.get(key("errorCode", facts.errorCode)) ?? []),
    ...(index.get(key("source", facts.source)) ?? []),
  ];
  return found.filter((control) => covers(control, facts) && !hasEnded(control, nowMs));
}

function covers(control: Control, facts: ControlFacts): boolean {
  if (control.source !== null && control.source !== facts.source) return false;
  return control.aggregateType === null || control.aggregateType === (facts.aggregateType ?? NO_AGGREGATE_TYPE);
}

function hasEnded(control: Control, nowMs: number): boolean {
  return control.expiresAtMs !== null && control.expiresAtMs <= nowMs;
}

type ControlRuling = { blacklisted: boolean; cooling: boolean; whitelisted: boolean };

export function ruleControls(applying: readonly Control[]): ControlRuling {
  const whitelisted = applying.some((control) => control.kind === "whitelist");
  const blacklists = applying.filter((control) => control.kind === "blacklist");
  const byPerson = blacklists.some((control) => control.origin === "person");
  const cooling = applying.some((control) => control.kind === "cooldown");
  return {
    blacklisted: byPerson || (blacklists.length > 0 && !whitelisted),
    cooling: cooling && !whitelisted,
    whitelisted,
  };
}

/**
 * Of the controls that apply to an event, returns the control that decides whether the event may be sent now: a
 * blacklist before a cooldown, and the whitelist where it overrides them. Null = no control decides. `ruleControls`
 * applies the same rule.
 */
export function decidingControl<Ruling extends Control>(applying: readonly Ruling[]): Ruling | null {
  const of = (kind: ControlKind) => applying.filter((control) => control.kind === kind);
  const [whitelist] = of("whitelist");
  const blacklists = of("blacklist");
  const byPerson = blacklists.find((control) => control.origin === "person");
  return byPerson ?? whitelist ?? blacklists[0] ?? longest(of("cooldown"));
}

/** Of several cooldowns the one that ends last decides how long the event waits. */
function longest<Ruling extends Control>(cooldowns: readonly Ruling[]): Ruling | null {
  const end = (control: Ruling) => control.expiresAtMs ?? Number.POSITIVE_INFINITY;
  return cooldowns.reduce<Ruling | null>((last, one) => (last === null || end(one) > end(last) ? one : last), null);
}

type Cause = Omit<Control, "id" | "aggregateType" | "expiresAtMs"> & { reason: string; createdBy: string };

/** The control that decides over an event: `blacklisted by maria (error code TIMEOUT in orders): broken producer`. */
export function controlCause({ kind, origin, createdBy, scope, value, source, reason }: Cause): string {
  const done = { blacklist: "blacklisted", cooldown: "cooling", whitelist: "let through its cooldown" }[kind];
  const by = origin === "automatic" ? "Parkade, after it kept failing" : createdBy;
  return `${done} by ${by} (${SCOPE_WORDS[scope]} ${value}${source === null ? "" : ` in ${source}`}): ${reason}`;
}

const SCOPE_WORDS: Record<ControlScope, string> = {
  eventId: "event",
  aggregateId: "aggregate",
  errorCode: "error code",
  source: "source",
};
