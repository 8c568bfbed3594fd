import { amqpReplyRule, amqpRule } from "@/lib/retry/classify/amqp";
import { awsRule, upperSnake } from "@/lib/retry/classify/aws";
import { chain, type Facts, factsOf } from "@/lib/retry/classify/facts";
import { httpCodeRule, httpRule } from "@/lib/retry/classify/http";
import { kafkaClientRule, kafkaName, kafkaRule } from "@/lib/retry/classify/kafka";
import { jetStreamRule, natsName, natsRule } from "@/lib/retry/classify/nats";
import { abortRule, nodeRule } from "@/lib/retry/classify/node";
import { postgresRule } from "@/lib/retry/classify/postgres";
import {
  type CodeRule,
  MAYBE_SENT,
  NOT_SENT,
  PERMANENT,
  UNKNOWN,
  type Verdict,
  verdict,
} from "@/lib/retry/classify/verdict";
import { parseRetryAfter } from "@/lib/retry/retry-after";

type Judgement = { code: string; rule: CodeRule };

/**
 * Judges a thrown value by code, status and type along its chain of causes, never by message text.
 *
 * The outermost link that one of the tables knows decides. `sent`, each hint when to repeat and a request not to repeat are taken
 * from the outermost link that states them: an adapter knows better than a table whether its bytes left. An unknown
 * error is permanent, because a repeat of it can do harm; one whose adapter states `sent`
 * is transient when nothing was sent and ambiguous otherwise.
 */
export function classify(error: unknown): Verdict {
  const links = chain(error).map(factsOf);
  const stated = links.find((facts) => facts.sent !== null)?.sent ?? null;
  const retryAfter = links.find((facts) => facts.retryAfter !== null)?.retryAfter ?? null;
  const retryAfterMs = links.find((facts) => facts.retryAfterMs !== null)?.retryAfterMs ?? null;
  // Only the form matters here, so any wall time will do for reading a date.
  const hinted = retryAfterMs !== null || (retryAfter !== null && parseRetryAfter(retryAfter, 0) !== null);
  const { code, rule } = firstKnown(links, hinted) ?? unknown(links, stated);
  const answer = verdict(code, rule);
  answer.sent = stated ?? (links.some((facts) => facts.connecting) ? "no" : answer.sent);
  answer.retryAfter = retryAfter;
  answer.retryAfterMs = retryAfterMs;
  answer.pushbackMs = links.find((facts) => facts.pushbackMs !== null)?.pushbackMs ?? null;
  answer.stop = links.some((facts) => facts.stop);
  return answer;
}

/** A verdict on an attempt that a timeout of ours ended. Before the connection stood, nothing had been sent. */
export function timeoutVerdict(code: string): Verdict {
  return verdict(code, code === "TIMEOUT_CONNECT" ? NOT_SENT : MAYBE_SENT);
}

function firstKnown(links: readonly Facts[], hinted: boolean): Judgement | null {
  for (const facts of links) {
    const known = byCode(facts, hinted) ?? byStatus(facts, hinted) ?? byName(facts);
    if (known) return known;
  }
  return null;
}

function byCode(facts: Facts, hinted: boolean): Judgement | null {
  if (facts.jetStream !== null) return judged(`NATS_${facts.jetStream}`, jetStreamRule(facts.jetStream));
  if (facts.kafkaType !== null && kafkaRule(facts.kafkaType)) {
    return judged(`KAFKA_${facts.kafkaType}`, kafkaRule(facts.kafkaType));
  }
  if (typeof facts.code === "number") return byNumber(facts, facts.code);
  if (facts.code === null) return judged(upperSnake(facts.name), awsRule(facts.name));
  // A wrapper of a response (UND_ERR_REQ_RETRY) is in no table: its status decides.
  const { code } = facts;
  const rule = nodeRule(code) ?? amqpRule(code) ?? natsRule(code) ?? kafkaRule(code) ?? postgresRule(code);
  return judged(code, rule) ?? judged(upperSnake(code), awsRule(code)) ?? judged(code, httpCodeRule(code, hinted));
}

function byNumber(facts: Facts, code: number): Judgement | null {
  if (facts.amqp) return judged(`AMQP_${code}`, amqpReplyRule(code));
  if (!facts.name.startsWith("Kafka")) return null;
  const name = kafkaName(code);
  return name === null ? null : judged(`KAFKA_${name}`, kafkaRule(name));
}

function byStatus(facts: Facts, hinted: boolean): Judgement | null {
  return facts.status === null ? null : judged(`HTTP_${facts.status}`, httpRule(facts.status, hinted));
}

function byName(facts: Facts): Judgement | null {
  const nats = natsName(facts.name);
  if (nats !== null) return judged(nats, natsRule(nats));
  return (
    judged(facts.name === "TimeoutError" ? "TIMEOUT" : "ABORTED", abortRule(facts.name)) ??
    judged(upperSnake(facts.name), kafkaClientRule(facts.name))
  );
}

function unknown(links: readonly Facts[], stated: Facts["sent"]): Judgement {
  const outer = links[0];
  const code = typeof outer?.code === "string" ? upperSnake(outer.code) : "UNKNOWN";
  if (stated === null) return { code, rule: { ...PERMANENT, sent: "maybe" } };
  return { code, rule: stated === "no" ? NOT_SENT : UNKNOWN };
}

function judged(code: string, rule: CodeRule | null): Judgement | null {
  return rule === null ? null : { code, rule };
}
