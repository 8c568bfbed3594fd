import { applyMapping } from "@/lib/brokers/conventions/mapping";
import { PayloadJson } from "@/lib/brokers/conventions/payload-json";
import type { Mapping } from "@/lib/brokers/kinds/fields.shapes";
import { textOrNull } from "@/lib/brokers/message";
import type { ProbeResult, ProbeSample, SampledMessage, SampleFacts } from "@/lib/brokers/port";
import { SAMPLE_CHARS_MAX } from "@/lib/brokers/source-limits.pure";
import { type DeadLetter, headerText, type Origin } from "@/lib/platform/plain/dead-letter.pure";

export const SAMPLE_MAX = 3;

/** What `look` saw; `depth` null = unknown. `reachable` false: it answered, and cannot be used. */
export type Seen = { reachable?: false; detail: string; depth?: number | null; sample?: ProbeSample[] };

/** The result of a look at a broker. An error of it is the result as well. Rejects only with `signal.reason`. */
export async function probed(
  signal: AbortSignal,
  look: () => Promise<Seen>,
  wordsOf = (error: unknown) => (error instanceof Error ? error.message : String(error)),
): Promise<ProbeResult> {
  try {
    signal.throwIfAborted();
    const { reachable = true, detail, depth = null, sample = [] } = await look();
    return reachable ? { reachable, detail, depth, sample } : { reachable, detail };
  } catch (error) {
    signal.throwIfAborted();
    return { reachable: false, detail: wordsOf(error) };
  }
}

/** What a probe says of a message that was read without a mapping: the facts under which it would be parked. */
export function sampleOf(letter: DeadLetter): ProbeSample {
  const facts: SampleFacts = {
    eventId: letter.eventId,
    aggregateType: letter.aggregateType,
    aggregateId: letter.aggregateId,
    version: letter.version === null ? null : String(letter.version),
    eventType: letter.eventType,
    errorCode: letter.errorCode,
    tags: letter.tags,
  };
  return {
    ...facts,
    errorType: letter.error.type,
    convention: letter.origin.convention ?? "generic",
    contentType: letter.contentType,
    payloadBytes: letter.payload.byteLength,
    message: {
      headers: withinLimit(letter.headers),
      properties: propertiesOf(letter.origin),
      payload: letter.payload.byteLength > SAMPLE_CHARS_MAX ? null : textOrNull(letter.payload),
    },
    customary: facts,
  };
}

function withinLimit(headers: DeadLetter["headers"]): DeadLetter["headers"] {
  let chars = 0;
  return headers.filter(([name, value]) => {
    chars += name.length + (value?.length ?? 0);
    return chars <= SAMPLE_CHARS_MAX;
  });
}

/** Properties lie in `origin.properties`, facts of the place where it was read in `origin.deadLetter`. */
function propertiesOf({ properties, deadLetter }: Origin): Record<string, string> {
  const { storedAtMs: _, ...place } = (deadLetter ?? {}) as Record<string, unknown>;
  const all: Record<string, unknown> = { ...place, ...properties };
  const scalars = Object.entries(all).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value));
  return Object.fromEntries(scalars.map(([name, value]) => [name, String(value)]));
}

export function mapSample(
  { message, customary }: { message: SampledMessage; customary: SampleFacts },
  mapping: Mapping,
): SampleFacts {
  const payload = new PayloadJson(Buffer.from(message.payload ?? ""));
  const find = (selector: string) => {
    if (selector.startsWith("/")) return payload.scalar(selector);
    if (selector.startsWith("property:")) return message.properties[selector.slice("property:".length)] ?? null;
    const name = selector.toLowerCase();
    const header = message.headers.find((one) => one[0].toLowerCase() === name);
    const text = header === undefined ? null : headerText(header);
    return text === null || text.trim() === "" ? null : text;
  };
  const version = customary.version === null ? null : BigInt(customary.version);
  const facts = applyMapping(mapping, find, { ...customary, version });
  return {
    ...facts,
    eventId: facts.eventId ?? customary.eventId,
    errorCode: facts.errorCode ?? customary.errorCode,
    version: facts.version === null ? null : String(facts.version),
  };
}
