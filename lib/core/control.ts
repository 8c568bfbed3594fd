/**
 * Controls in force. A blacklist refuses, a cooldown refuses until it expires, a whitelist overrides cooldowns and the
 * blacklist that Parkade itself imposed, never a blacklist set by a person.
 */
export type ControlKind = "blacklist" | "whitelist" | "cooldown";
export type ControlScope = "eventId" | "aggregateId" | "errorCode" | "source";

export type Control = {
  id: string;
  kind: ControlKind;
  scope: ControlScope;
  value: string;
  origin: "person" | "automatic";
  expiresAtMs: number | null;
};

/** What a control can match. `source` is the source's name. */
export type ControlFacts = { eventId: string; aggregateId: string | null; errorCode: string; source: string };

/** Lookup by scope and value: deciding one event costs four map reads, however many controls exist. */
export type ControlIndex = ReadonlyMap<string, readonly Control[]>;

function key(scope: ControlScope, value: string): string {
  return `${scope}\u0000${value}`;
}

export function indexControls(controls: readonly Control[]): ControlIndex {
  const index = new Map<string, Control[]>();
  for (const control of controls) {
    const at = key(control.scope, control.value);
    const known = index.get(at);
    if (known) known.push(control);
    else index.set(at, [control]);
  }
  return index;
}

/** Controls in force at `nowMs` that apply to the event, any scope. */
export function applyingControls(index: ControlIndex, facts: ControlFacts, nowMs: number): Control[] {
  if (index.size === 0) return [];
  const found = [
    ...(index.get(key("eventId", facts.eventId)) ?? []),
    ...(facts.aggregateId === null ? [] : (index.get(key("aggregateId", facts.aggregateId)) ?? [])),
    ...(index.get(key("errorCode", facts.errorCode)) ?? []),
    ...(index.get(key("source", facts.source)) ?? []),
  ];
  return found.filter((control) => control.expiresAtMs === null || control.expiresAtMs > nowMs);
}

export type ControlRuling = { blacklisted: Control | null; cooling: Control | null; whitelisted: Control | null };

export function ruleControls(applying: readonly Control[]): ControlRuling {
  const whitelisted = applying.find((control) => control.kind === "whitelist") ?? null;
  const blacklists = applying.filter((control) => control.kind === "blacklist");
  const blacklisted =
    blacklists.find((control) => control.origin === "person") ?? (whitelisted ? null : (blacklists[0] ?? null));
  const cooling = whitelisted ? null : (applying.find((control) => control.kind === "cooldown") ?? null);
  return { blacklisted, cooling, whitelisted };
}
