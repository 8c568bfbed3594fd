import { KINDS, kindOf } from "@/lib/brokers/kinds/kinds.shapes";
import type { ConsumerWord } from "@/lib/brokers/source-mode.pure";
import type { GroupMute } from "@/lib/events/groups/mutes/group-mute.pure";
import { STANDING_FINDING } from "@/lib/guard/audit-chain/standing-finding.sql";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import { roomSentence } from "@/lib/intake/room/room.pure";
import { readRoom } from "@/lib/intake/room/room.read";
import type {
  AgeRow,
  AlertFacts,
  AuditFact,
  ContractFact,
  CountRow,
  FactName,
  FactRows,
  RedriveFact,
  SourceFact,
  SourceFault,
  TargetFact,
  WatchedGroup,
} from "@/lib/observe/alerts/facts/alert-facts.pure";
import { readArrivalsOf, readOutcomesOf } from "@/lib/observe/alerts/facts/arrivals.read";
import { readLateGroups } from "@/lib/observe/alerts/facts/late-groups.read";
import { type AlertWatch, alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { isStandstill } from "@/lib/redrive/life/stalled.pure";
import { listRedrives } from "@/lib/redrive/list/redrives.read";
import { contractReports } from "@/lib/sources/contracts/contract-reports";
import { sourceContractReports } from "@/lib/sources/contracts/source-contract-reports";
import { CONSUMER_IS_LIVE } from "@/lib/sources/source-consumers.read";
import { type HeartbeatInfo, IS_ALIVE } from "@/lib/sources/targets/target-list.read";
import { LIVE_REDRIVE_STATES } from "@/lib/states/redrive-state.pure";
import { PARKED } from "@/lib/states/state.sql";

type Needs = {
  rules: readonly AlertWatch[];
  watched: readonly WatchedGroup[];
  /** Groups whose arrivals no alert counts. */
  muted: readonly Pick<GroupMute, "fingerprint" | "source">[];
  nowMs: number;
  /** Rejects when joining the groups of storms failed: each of them would alert as new. */
  stormsJoined?: Promise<unknown>;
};

/** `words`: what could not be read, in the fault of a rule. `asking`: the rules that are judged by this part. */
type Reading<Rows> = { words: string; read(db: Queryable, needs: Needs, asking: readonly AlertWatch[]): Promise<Rows> };

const READINGS: { [Name in FactName]: Reading<FactRows[Name]> } = {
  levels: { words: "sizes", read: readLevels },
  ages: {
    words: "ages",
    read: (db, _, asking) =>
      readAges(db, [...new Set(asking.flatMap((watch) => ("errorCodes" in watch ? (watch.errorCodes ?? []) : [])))]),
  },
  arrivals: {
    words: "arrivals",
    read: (db, { nowMs, muted }, asking) => byWindow(asking, (ms) => readArrivalsOf(db, ms, nowMs, muted)),
  },
  outcomes: {
    words: "outcomes",
    read: (db, { nowMs }, asking) => byWindow(asking, (ms) => readOutcomesOf(db, ms, nowMs)),
  },
  groups: {
    words: "groups",
    async read(db, { watched, nowMs, stormsJoined }) {
      await stormsJoined;
      return readLateGroups(db, watched, nowMs);
    },
  },
  targets: { words: "targets", read: readTargetFacts },
  sources: { words: "sources", read: readSourceFacts },
  contracts: { words: "contracts", read: (db, { nowMs }) => readBrokenContracts(db, nowMs) },
  rooms: {
    words: "room",
    read: async (db) => (await readRoom(db)).map((room) => ({ ...room, sentence: roomSentence(room) })),
  },
  audit: { words: "audit", read: readStandingFinding },
  redrives: { words: "redrives", read: (db, { nowMs }) => readStillRedrives(db, nowMs) },
};

/**
 * The facts that these rules need, each part by one read however many rules there are. A read that fails leaves the other
 * parts as they are; `note` gets its error, and `fault` holds no text of it.
 */
export async function readAlertFacts(
  db: Queryable,
  needs: Needs,
  note: (error: unknown, part: string) => void,
): Promise<AlertFacts> {
  const facts: AlertFacts = { nowMs: needs.nowMs };
  // One after the other: an evaluation is no reason to take the connections of those who redrive.
  for (const [name, asking] of Map.groupBy(needs.rules, ({ kind }) => alertKindOf(kind).facts)) {
    const { words, read } = READINGS[name];
    try {
      Object.assign(facts, { [name]: { rows: await read(db, needs, asking) } });
    } catch (error) {
      note(error, words);
      facts[name] = { fault: `its ${words} could not be read: the worker's log says why` };
    }
  }
  return facts;
}

/** The contracts of all targets and sources, as their reports have them. */
async function readBrokenContracts(db: Queryable, nowMs: number): Promise<ContractFact[]> {
  const viewer = systemViewer("alerts");
  const targets = await contractReports(db, viewer);
  const sources = await sourceContractReports(db, viewer, nowMs);
  return [...targets, ...sources.map((report) => ({ target: null, ...report }))].map((report) => ({
    target: report.target,
    source: report.source,
    broken: report.assertions.filter(({ result }) => result === "broken").map(({ id }) => id),
  }));
}

async function readStandingFinding(db: Queryable): Promise<AuditFact[]> {
  return db.query<AuditFact>(
    `select (v.result ->> 'findingsTotal')::int as findings, v.result -> 'first' ->> 'detail' as first
       from (${STANDING_FINDING}) v`,
    [],
    { name: "alert-audit" },
  );
}

async function byWindow<Row>(asking: readonly AlertWatch[], read: (windowMs: number) => Promise<Row[]>) {
  const found = new Map<number, Row[]>();
  for (const windowMs of new Set(asking.flatMap((watch) => ("windowMs" in watch ? watch.windowMs : []))))
    found.set(windowMs, await read(windowMs));
  return found;
}

async function readLevels(db: Queryable): Promise<CountRow[]> {
  return db.query<CountRow>(
    `select s.name as source, l.error_code as "errorCode", sum(l.n)::bigint as n
       from dlq_level_sums l join sources s on s.id = l.source_id where l.status in ${PARKED} group by 1, 2`,
    [],
    { name: "alert-levels" },
  );
}

/** All codes together, and these ones apart. */
async function readAges(db: Queryable, codes: readonly string[]): Promise<AgeRow[]> {
  const text = `with hours as materialized (
       select source_id, error_code, hour, sum(n)::bigint as n from dlq_level_ages where status in ${PARKED}
        group by 1, 2, 3 having sum(n) > 0)
     select s.name as source, null as "errorCode", hour as "hourMs", sum(n)::bigint as n
       from hours join sources s on s.id = source_id group by 1, 3
     union all
     select s.name, error_code, hour, n from hours join sources s on s.id = source_id where error_code = any($1::text[])`;
  return db.query<AgeRow>(text, [codes], { name: "alert-ages" });
}

type Beat = { info: HeartbeatInfo };

/** A target is as the worst of its workers has it. */
async function readTargetFacts(db: Queryable): Promise<TargetFact[]> {
  const targets = await db.query<{ target: string; source: string; force: "open" | "closed" | null }>(
    `select t.name as target, s.name as source, t.breaker_force as force from targets t join sources s on s.id = t.source_id`,
    [],
    { name: "alert-targets" },
  );
  const beats = await db.query<Beat>(`select info from worker_heartbeats where ${IS_ALIVE}`, [], {
    name: "alert-beats",
  });
  return targets.map(({ target, source, force }) => {
    const reports = beats.flatMap(({ info }) => info.targets?.[target] ?? []);
    const opened = reports.some(({ breaker }) => breaker?.state === "open" && !breaker.forced);
    return {
      target,
      source,
      breaker: { open: force === "open" || opened, forced: force === "open" },
      healingSteps: Math.max(0, ...reports.map(({ healing }) => healing?.steps ?? 0)),
    };
  });
}

const READ_KINDS = KINDS.filter((kind) => kindOf(kind).capabilities.reads);

const FAULTS: Partial<Record<ConsumerWord, SourceFault>> = { failing: "failing", connecting: "unreachable" };

/** Sources that should be read and are not. */
async function readSourceFacts(db: Queryable): Promise<SourceFact[]> {
  const rows = await db.query<{ source: string; states: ConsumerWord[] | null; detail: string | null }>(
    `select s.name as source, array_agg(c.state) filter (where c.state is not null) as states,
            (array_agg(c.last_error order by c.last_error_at desc) filter (where c.last_error is not null))[1] as detail
       from sources s left join source_consumers c on c.source_id = s.id and ${CONSUMER_IS_LIVE}
      where s.mode in ('running', 'draining') and s.kind = any($1::text[]) group by s.name`,
    [READ_KINDS],
    { name: "alert-sources" },
  );
  const masks = await readMasks(db);
  return rows.flatMap(({ source, states, detail }): SourceFact[] => {
    if (states === null) return [{ source, fault: "unread", detail: "" }];
    const faults = states.map((state) => FAULTS[state]);
    // Another worker may read it.
    const fault = faults.includes(undefined) ? undefined : (faults.find((each) => each === "failing") ?? faults[0]);
    return fault ? [{ source, fault, detail: maskText(detail ?? "", masks.of(source)) }] : [];
  });
}

const REDRIVES_MAX = 200;

/** Redrives that send nothing and should, with the reason. */
export async function readStillRedrives(db: Queryable, nowMs: number): Promise<RedriveFact[]> {
  const query = { limit: REDRIVES_MAX, cursor: null, states: LIVE_REDRIVE_STATES, waitsFor: null };
  const { items } = await listRedrives(db, systemViewer("alerts"), query, nowMs);
  const set = (await readMasks(db)).of(null);
  const still = items
    .filter(isStandstill)
    .map(({ id, reason, stalled }) => ({ id, reason: maskText(reason, set), why: maskText(stalled!.text, set) }));
  if (still.length === 0) return [];
  const rows = await db.query<{ id: string; sources: string[] }>(
    "select id, sources from redrives where id = any($1::uuid[])",
    [still.map(({ id }) => id)],
    { name: "sources-of-redrives" },
  );
  const sourcesOf = new Map(rows.map(({ id, sources }) => [id, sources]));
  return still.map((redrive) => ({ ...redrive, sources: sourcesOf.get(redrive.id) ?? [] }));
}
