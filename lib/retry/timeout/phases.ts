/** Limits within one attempt. Each is measured from the attempt's start; the whole is the policy's attemptTimeoutMs. */
export type PhaseTimeouts = {
  /** Until the connection stands. */
  connectMs: number;
  /** Until the first byte of the answer. */
  firstByteMs: number;
};

/** How far an attempt has come, as its transport reports it. */
export type Phase = "connecting" | "connected" | "answering";

/** Codes of a timeout: of a phase, of the attempt, of the operation. */
export type TimeoutCode = "TIMEOUT_CONNECT" | "TIMEOUT_FIRST_BYTE" | "TIMEOUT_ATTEMPT" | "TIMEOUT_DEADLINE";

/** The limit in force during `phase`: milliseconds from the attempt's start, and what to call its passing. */
export function phaseLimit(
  phase: Phase,
  phases: PhaseTimeouts | null,
  wholeMs: number,
): { ms: number; code: TimeoutCode } {
  const phaseMs = phases === null ? wholeMs : limitOf(phase, phases, wholeMs);
  if (phaseMs >= wholeMs) return { ms: wholeMs, code: "TIMEOUT_ATTEMPT" };
  return { ms: phaseMs, code: phase === "connecting" ? "TIMEOUT_CONNECT" : "TIMEOUT_FIRST_BYTE" };
}

function limitOf(phase: Phase, phases: PhaseTimeouts, wholeMs: number): number {
  switch (phase) {
    case "connecting":
      return phases.connectMs;
    case "connected":
      return phases.firstByteMs;
    case "answering":
      return wholeMs;
  }
}
