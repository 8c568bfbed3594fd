import { chain, type Facts, factsOf } from "@/lib/retry/classify/facts";
import {
  AWAY,
  type CodeRule,
  MAYBE_SENT,
  NOT_SENT,
  PERMANENT,
  UNKNOWN,
  upperSnake,
  type Verdict,
  verdict,
} from "@/lib/retry/classify/verdict";
import { parseRetryAfter } from "@/lib/retry/retry-after";

export type Judgement = { code: string; rule: CodeRule };

/** The errors of one protocol or client library. `hinted`: a well-formed hint when to repeat came with the error. */
export type Family = {
  /** undefined = not an error of this family; null = one, with a code that the family does not know. */
  byCode?(facts: Facts, hinted: boolean): Judgement | null | undefined;
  /** Asked when no family knows the code. */
  byStatus?(status: number, hinted: boolean): Judgement | undefined;
  /** Asked when no family knows the code or the status. */
  byName?(name: string): Judgement | undefined;
};

/**
 * Makes a function that judges a thrown value by code, status and type along its chain of causes, never by message
 * text.
 *
 * The outermost link that one of the families knows decides. `sent`, each hint when to repeat and a request not to
 * repeat are taken from the outermost link that states them: an adapter knows better than a table whether its bytes
 * left. An unknown error is permanent, because a repeat of it can do harm; one whose adapter states `sent` is transient
 * when nothing was sent and ambiguous otherwise.
 */
export function classifier(...families: readonly Family[]): (error: unknown) => Verdict {
  return (error) => {
    const links = chain(error).map(factsOf);
    const stated = links.find((facts) => facts.sent !== null)?.sent ?? null;
    const retryAfter = links.find((facts) => facts.retryAfter !== null)?.retryAfter ?? null;
    const retryAfterMs = links.find((facts) => facts.retryAfterMs !== null)?.retryAfterMs ?? null;
    // Only the form matters here, so any wall time will do for reading a date.
    const hinted = retryAfterMs !== null || (retryAfter !== null && parseRetryAfter(retryAfter, 0) !== null);
    const known = firstKnown(families, links, hinted);
    const { code, rule } = known ?? unknown(links, stated);
    const connecting = links.some((facts) => facts.connecting);
    const sent = stated ?? (connecting ? "no" : rule.sent);
    // Nothing was sent over a connection whose loss leaves that open: there was none.
    const answered = links.some((facts) => facts.status !== null);
    const unconnected = sent === "no" && !answered && (rule.sent === "maybe" || connecting);
    return {
      ...verdict(code, unconnected && rule.kind !== "permanent" ? { ...rule, away: true } : rule),
      ...(known === null && { unknown: true as const }),
      sent,
      retryAfter,
      retryAfterMs,
      pushbackMs: links.find((facts) => facts.pushbackMs !== null)?.pushbackMs ?? null,
      stop: links.some((facts) => facts.stop),
    };
  };
}

/** A verdict on an attempt that a timeout of ours ended. Before the connection stood, nothing had been sent. */
export function timeoutVerdict(code: string): Verdict {
  return verdict(code, code === "TIMEOUT_CONNECT" ? AWAY : MAYBE_SENT);
}

function firstKnown(families: readonly Family[], links: readonly Facts[], hinted: boolean): Judgement | null {
  for (const facts of links) {
    const { name, status } = facts;
    const known =
      firstDefined(families, (family) => family.byCode?.(facts, hinted)) ??
      firstDefined(families, (family) => (status === null ? undefined : family.byStatus?.(status, hinted))) ??
      firstDefined(families, (family) => family.byName?.(name));
    if (known) return known;
  }
  return null;
}

function firstDefined<T, R>(values: readonly T[], ask: (value: T) => R | undefined): R | undefined {
  for (const value of values) {
    const answer = ask(value);
    if (answer !== undefined) return answer;
  }
}

function unknown(links: readonly Facts[], stated: Facts["sent"]): Judgement {
  const outer = links[0];
  const code = typeof outer?.code === "string" ? upperSnake(outer.code) : "UNKNOWN";
  if (stated === null) return { code, rule: { ...PERMANENT, sent: "maybe" } };
  return { code, rule: stated === "no" ? NOT_SENT : UNKNOWN };
}

export function judged(code: string, rule: CodeRule | null): Judgement | undefined {
  return rule === null ? undefined : { code, rule };
}
