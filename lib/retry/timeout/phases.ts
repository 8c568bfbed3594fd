/** Limits within one attempt. Each is measured from the attempt's start; the whole is the policy's attemptTimeoutMs. */
export type PhaseTimeouts = {
  /** Until the connection stands. */
  connectMs: number;
  /** Until the first byte of the answer. */
  firstByteMs: number;
};

/** How far an attempt has come, as its transport reports it. `authorizing`: until `connected` it waits for a credential, then connects. */
export type Phase = "connecting" | "authorizing" | "connected" | "answering";

/** Codes of a timeout: of a phase, of the attempt, of the operation. */
export type TimeoutCode = "TIMEOUT_CONNECT" | "TIMEOUT_FIRST_BYTE" | "TIMEOUT_ATTEMPT" | "TIMEOUT_DEADLINE";

/**
 * The limit in force during `phase`: milliseconds from the attempt's start, and what to call its passing. `authorizedMs`: until
 * the attempt had its credential and was connected, which takes nothing from the later phases.
 */
export function phaseLimit(
  phase: Phase,
  phases: PhaseTimeouts | null,
  { wholeMs, authorizedMs = 0 }: { wholeMs: number; authorizedMs?: number },
): { ms: number; code: TimeoutCode } {
  if (phase === "authorizing") return { ms: wholeMs, code: "TIMEOUT_CONNECT" };
  const phaseMs = phases === null ? wholeMs : authorizedMs + limitOf(phase, phases, wholeMs);
  if (phaseMs >= wholeMs) return { ms: wholeMs, code: "TIMEOUT_ATTEMPT" };
  return { ms: phaseMs, code: phase === "connecting" ? "TIMEOUT_CONNECT" : "TIMEOUT_FIRST_BYTE" };
}

function limitOf(phase: Exclude<Phase, "authorizing">, phases: PhaseTimeouts, wholeMs: number): number {
  switch (phase) {
    case "connecting":
      return phases.connectMs;
    case "connected":
      return phases.firstByteMs;
    case "answering":
      return wholeMs;
  }
}
