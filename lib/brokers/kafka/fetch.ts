import {
  type API,
  type Base,
  type Broker,
  createAPI,
  FetchIsolationLevels,
  fetchV11,
  fetchV12,
  fetchV13,
  fetchV14,
  fetchV15,
  fetchV16,
  fetchV17,
  type Reader,
} from "@platformatic/kafka";
import { connectionTo, versionOf } from "@/lib/brokers/kafka/client";
import { KafkaFault } from "@/lib/brokers/kafka/fault";
import {
  type AbortedTransaction,
  committedBatches,
  type RecordBatch,
  readBatches,
} from "@/lib/brokers/kafka/record-batch";

// The client's own reading loses facts that dead letters need: it lets records of aborted transactions through when one
// producer aborted several, takes the producer's time for the broker's on a LogAppendTime topic, and gives up the answer
// of every partition when one has an error or a damaged batch. So the answers are read here; connections, versions,
// compression and checksums stay the client's.

type FetchFrom = { topic: string; topicId: string; partition: number; offset: bigint };

export type Fetched = {
  topicId: string;
  partition: number;
  /** 0 = none. Kafka's number. */
  errorCode: number;
  /** The offset behind the last record that a read-committed consumer may see; null with an error. */
  endOffset: bigint | null;
  /** Batches that hold committed records, from the asked offset on. Their first ones may begin before it. */
  batches: RecordBatch[];
  /** Where to go on: behind everything in this answer, aborted and control records included. */
  nextOffset: bigint | null;
};

type FetchLimits = {
  /** Of the whole answer. The first batch comes whole, whatever its size. */
  maxBytes: number;
  maxWaitMs: number;
};

type Raw = Omit<Fetched, "batches" | "nextOffset" | "endOffset"> & {
  lastStableOffset: bigint;
  aborted: AbortedTransaction[] | null;
  records: Buffer | null;
};

/** From this version on names and arrays are written compactly, and from this one topics by their id. */
const COMPACT_FROM = 12;
const TOPIC_ID_FROM = 13;

const REQUESTS = { 11: fetchV11, 12: fetchV12, 13: fetchV13, 14: fetchV14, 15: fetchV15, 16: fetchV16, 17: fetchV17 };
type Version = keyof typeof REQUESTS;
type Request = Parameters<typeof fetchV17.createRequest>;

const APIS = new Map<Version, API<Request, Raw[]>>();

/** An answer of another size than its fields says is the answer of another server. */
function parse(_correlationId: number, _apiKey: number, version: number, reader: Reader): Raw[] {
  const compact = version >= COMPACT_FROM;
  reader.readInt32(); // throttled for so long already
  const errorCode = reader.readInt16();
  if (errorCode !== 0) throw new KafkaFault("KAFKA_FETCH_REFUSED", `the broker refuses reads: error ${errorCode}`);
  reader.readInt32(); // session, none
  const found: Raw[] = [];
  reader.readArray(
    (r) => {
      const topicId = version >= TOPIC_ID_FROM ? r.readUUID() : r.readString(compact);
      r.readArray(
        (p) => {
          const partition = p.readInt32();
          const partitionError = p.readInt16();
          p.readInt64(); // high watermark
          const lastStableOffset = p.readInt64();
          p.readInt64(); // log start
          const aborted = p.readNullableArray(
            (a) => ({ producerId: a.readInt64(), firstOffset: a.readInt64() }),
            compact,
            compact,
          );
          p.readInt32(); // preferred replica
          const records = p.readNullableBytes(compact);
          if (compact) p.readTaggedFields();
          found.push({ topicId, partition, errorCode: partitionError, lastStableOffset, aborted, records });
        },
        compact,
        false,
      );
    },
    compact,
    compact,
  );
  return found;
}

function apiOf(version: number): API<Request, Raw[]> {
  const known = APIS.get(version as Version);
  if (known !== undefined) return known;
  const requests = REQUESTS[version as Version];
  if (requests === undefined)
    throw new KafkaFault("KAFKA_UNSUPPORTED_VERSION", "the broker is older than Kafka 2.3, which Parkade cannot read");
  const compact = version >= COMPACT_FROM;
  const api = createAPI<Request, Raw[]>(1, version, requests.createRequest, parse, compact, compact);
  APIS.set(version as Version, api);
  return api;
}

/** A fetch outside of any session. */
const NO_SESSION = { id: 0, epoch: -1 };

/** Reads from partitions that one broker leads, committed records only. Waits up to `maxWaitMs` for the first one. */
export async function fetchFrom(
  client: Base,
  broker: Broker,
  parts: readonly FetchFrom[],
  { maxBytes, maxWaitMs }: FetchLimits,
): Promise<Fetched[]> {
  const version = await versionOf(client, "Fetch");
  const api = apiOf(version);
  const byName = version < TOPIC_ID_FROM;
  const idOf = new Map(parts.map(({ topic, topicId }) => [byName ? topic : topicId, topicId]));
  const topics = [...idOf].map(([name, topicId]) => ({
    topicId: name,
    partitions: parts
      .filter((part) => part.topicId === topicId)
      .map(({ partition, offset }) => ({
        partition,
        currentLeaderEpoch: -1,
        fetchOffset: offset,
        lastFetchedEpoch: -1,
        partitionMaxBytes: maxBytes,
      })),
  }));
  const connection = await connectionTo(client, broker);
  const { READ_COMMITTED } = FetchIsolationLevels;
  const raws = await api.async(
    connection,
    maxWaitMs,
    1,
    maxBytes,
    READ_COMMITTED,
    NO_SESSION.id,
    NO_SESSION.epoch,
    topics,
    [],
    "",
  );
  return raws.map((raw) => unpacked({ ...raw, topicId: idOf.get(raw.topicId) ?? raw.topicId }));
}

function unpacked({ topicId, partition, errorCode, lastStableOffset, aborted, records }: Raw): Fetched {
  const batches = records === null ? [] : readBatches(records);
  const last = batches.at(-1);
  return {
    topicId,
    partition,
    errorCode,
    endOffset: errorCode === 0 ? lastStableOffset : null,
    batches: committedBatches(batches, aborted ?? []),
    nextOffset: last === undefined ? null : last.lastOffset + 1n,
  };
}
