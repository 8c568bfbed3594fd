import type { Admin } from "@platformatic/kafka";
import { abortable } from "@/lib/brokers/abortable";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import { adminOf, mayDo, OPERATION, request, type TopicFacts, topicsOf } from "@/lib/brokers/kafka/client";
import { describeKafka, kafkaCode } from "@/lib/brokers/kafka/fault";
import { fetchFrom } from "@/lib/brokers/kafka/fetch";
import { assertOwnGroup, END_OFFSET, FIRST_OFFSET, keyOf, offsetsAt, sourceOfClient } from "@/lib/brokers/kafka/group";
import type { KafkaConfig } from "@/lib/brokers/kafka/kind.shapes";
import { kafkaMessage } from "@/lib/brokers/kafka/message";
import { type KafkaDeps, KafkaPublisher } from "@/lib/brokers/kafka/publisher";
import { kafkaReader } from "@/lib/brokers/kafka/reader";
import { recordsOf } from "@/lib/brokers/kafka/record-batch";
import type { Adapter, AdapterDeps, ProbeResult, ProbeSample } from "@/lib/brokers/port";
import { probed, SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";

/** Kafka: reads dead-letter topics in a group of its own; redrives under the same key with acks=all. */
export function kafkaAdapter(deps: KafkaDeps): Adapter<KafkaConfig> {
  return {
    reader: (config, source) => kafkaReader(config, source, deps),
    probe: (config, signal) => probeTopics(config, deps, signal),
    publisher: (config, lane = "main") => new KafkaPublisher(config, lane, deps),
  };
}

const SAMPLE_FETCH = { maxBytes: 262_144, maxWaitMs: 200 };

type Part = { facts: TopicFacts; p: number; first: bigint; end: bigint };

/** Whether the topics can be read, how much lies there, and its first records. Joins no group and commits nothing. */
function probeTopics(config: KafkaConfig, deps: AdapterDeps, signal: AbortSignal): Promise<ProbeResult> {
  const admin = adminOf(config, "probe", deps);
  const looking = probed(
    signal,
    () => abortable(look(admin, config), signal),
    (error) => describeKafka(error, config),
  );
  return looking.finally(() => admin.close().catch(() => undefined)); // never connected
}

async function look(admin: Admin, config: KafkaConfig) {
  const where = config.bootstrap.join(", ");
  const { topics, missing, brokers } = await topicsOf(admin, config.topics, { operations: true });
  const absent = missing.map(({ name, errorCode }) =>
    errorCode === TOPIC_AUTHORIZATION_FAILED ? `DESCRIBE on topic ${name} is missing` : `topic ${name} does not exist`,
  );
  if (topics.length === 0) {
    const why = absent.length > 0 ? absent.join("; ") : `no readable topic matches ${config.topics.join(", ")}`;
    return { reachable: false as const, detail: `reached ${where}; ${why}` };
  }
  const readable = topics.filter(({ operations }) => mayDo(operations, OPERATION.READ) !== false);
  const denied = topics
    .filter((topic) => !readable.includes(topic))
    .map(({ name }) => `READ on topic ${name} is missing`);
  const ofGroup = await groupProblems(admin, config);
  const problems = [...absent, ...denied, ...ofGroup];
  const parts = await partsOf(admin, readable);
  const depth = parts.reduce((sum, { first, end }) => sum + Number(end - first), 0);
  const sample: ProbeSample[] = [];
  for (const part of parts.filter(({ first, end }) => end > first)) {
    if (sample.length >= SAMPLE_MAX) break;
    const leader = part.facts.leaders[part.p];
    const broker = leader === null || leader === undefined ? undefined : brokers.get(leader);
    if (broker === undefined) problems.push(`${keyOf(part.facts.name, part.p)} has no leader`);
    else sample.push(...(await samples(admin, broker, part)).slice(0, SAMPLE_MAX - sample.length));
  }
  const found = [...new Set(sample.map(({ convention }) => convention))].join(", ");
  const detail = [
    `reached ${where}`,
    `${depth.toLocaleString("en")} message${depth === 1 ? "" : "s"} over ${parts.length} partition${parts.length === 1 ? "" : "s"}`,
    ...(sample.length === 0 ? [] : [`${found} headers found`]),
    ...problems,
    ...(await readersOf(admin, config)),
  ].join("; ");
  return readable.length === 0 || ofGroup.length > 0
    ? { reachable: false as const, detail }
    : { detail, depth, sample };
}

const TOPIC_AUTHORIZATION_FAILED = 29;

async function partsOf(admin: Admin, topics: readonly TopicFacts[]): Promise<Part[]> {
  const wanted = topics.flatMap((facts) => facts.leaders.map((_, p) => ({ facts, p })));
  const [first, end] = [await offsetsAt(admin, wanted, FIRST_OFFSET), await offsetsAt(admin, wanted, END_OFFSET)];
  return wanted.map(({ facts, p }) => ({
    facts,
    p,
    first: first.get(keyOf(facts.name, p)) ?? 0n,
    end: end.get(keyOf(facts.name, p)) ?? 0n,
  }));
}

async function samples(
  admin: Admin,
  broker: { host: string; port: number },
  { facts, p, first }: Part,
): Promise<ProbeSample[]> {
  const place = { topic: facts.name, topicId: facts.id, partition: p };
  const [fetched] = await fetchFrom(admin, broker, [{ ...place, offset: first }], SAMPLE_FETCH);
  const records = (fetched?.batches ?? []).flatMap((batch) => {
    try {
      return recordsOf(batch);
    } catch {
      return []; // damaged: reading parks the batch whole
    }
  });
  return records.slice(0, SAMPLE_MAX).map((record) => sampleOf(readDeadLetter(kafkaMessage(record, place), {})));
}

/** Which sources of Parkade read with the group now: nothing tells whether one of them is the source that is tried. */
async function readersOf(admin: Admin, { groupId }: KafkaConfig): Promise<string[]> {
  if (groupId === undefined) return [];
  try {
    const group = (await admin.describeGroups({ groups: [groupId] })).get(groupId);
    const names = [...(group?.members.values() ?? [])].flatMap(({ clientId }) => sourceOfClient(clientId) ?? []);
    return [...new Set(names)].map((name) => `group ${groupId} is read by source ${name} of Parkade`);
  } catch {
    return []; // there is no such group yet, or it may not be looked at
  }
}

/** What stands between this source and its group. A heartbeat of no member needs the permission that joining needs. */
async function groupProblems(admin: Admin, config: KafkaConfig): Promise<string[]> {
  const groupId = config.groupId ?? "parkade.probe";
  const name = config.groupId === undefined ? "the group parkade.<name of the source>" : `group ${groupId}`;
  try {
    await assertOwnGroup(admin, { groupId, source: null, topics: config.topics });
    const [coordinator] = await admin.findCoordinator({ keyType: 0, keys: [groupId] });
    await request(admin, "Heartbeat", coordinator!, groupId, 0, "parkade-probe", null);
    return [];
  } catch (error) {
    const code = kafkaCode(error);
    if (code === "KAFKA_GROUP_AUTHORIZATION_FAILED") return [`READ on ${name} is missing`];
    return code === "KAFKA_GROUP_SHARED" ? [describeKafka(error, config)] : []; // no such member
  }
}
