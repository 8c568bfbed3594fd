import { globSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Deps, setDeps } from "@/app/_server/deps";
import { localViewer, type Viewer, whyNot } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { uuidv7 } from "@/lib/platform/ids";
import { CONTRACT_DEFAULTS } from "@/lib/sources/contracts/contract.pure";
import { SOURCE_CONTRACT_DEFAULTS } from "@/lib/sources/contracts/source-contract.pure";
import { type CallOptions, type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";

/**
 * Two sources, and a viewer of one: `orders`. Everything of the other holds the word `zzb` in its names and texts, or has
 * an id in `hidden`. Every route of the API is asked for it, and none may show or change it.
 */

const CLERK: Viewer = { name: "clerk", means: "session", sources: ["orders"], actions: "all" };
const READER: Viewer = { name: "reader", means: "token", sources: "all", actions: ["view"] };
const ADMIN = localViewer("ada");
const RECIPE = { kind: "form", steps: [{ op: "set", at: "", value: {} }] };
const ABSENT = "00000000-0000-7000-8000-000000000000";

let web: TestConsole;
let archive: string;
let own: Record<string, string>;
let other: Record<string, string>;
let hidden: string[];

type Handler = Parameters<TestConsole["call"]>[0];

/** The route files by their address: a folder in parentheses is no part of it. */
const ROUTES = new Map(globSync("app/**/route.ts").map((file) => [file.replace(/^app\/(\(\w+\)\/)?/, ""), file]));

async function handlersOf(path: string): Promise<Record<string, Handler>> {
  return import(/* @vite-ignore */ `../../${ROUTES.get(path)}`);
}

type Case = CallOptions;

async function ask(viewer: Viewer, route: string, options: Case = {}) {
  setDeps({ ...web.deps, identify: () => viewer } satisfies Deps);
  const [method, path] = route.split(" ") as [string, string];
  const handlers = await handlersOf(path);
  return web.call(handlers[method]!, { ...options, method });
}

const post = (body: unknown, params: Record<string, string> = {}): Case => ({ body, params });

async function idOf(text: string, values: unknown[] = []): Promise<string> {
  return (await web.deps.db.query<{ id: string }>(text, values))[0]!.id;
}

/** Creates events, a redrive, controls, a view and an operation of a source. Returns their ids. */
async function furnish(source: string): Promise<Record<string, string>> {
  const mark = source;
  const arrivals = Array.from({ length: 3 }, (_, index) => ({
    source,
    letter: deadLetter({
      eventId: `${mark}-event-${index}`,
      aggregateType: mark,
      aggregateId: `${mark}-aggregate-${index}`,
      eventType: mark,
      errorCode: index === 2 ? "SHARED" : mark.toUpperCase(),
      error: { type: "Shared", message: index === 2 ? "shared" : mark, stack: null },
      headers: [["mark", mark]],
      tags: { mark },
      origin: { queue: mark },
      payload: Buffer.from(JSON.stringify(mark)),
    }),
  }));
  await parkEvents(web.deps, arrivals, localViewer(`${mark}-parker`));
  const event = (index: number) => idOf("select id from dlq_events where event_id = $1", [`${mark}-event-${index}`]);
  const groupOf = (index: number) =>
    idOf("select fingerprint as id from dlq_events where event_id = $1", [`${mark}-event-${index}`]);
  const made = async (path: string, body: object, params: Record<string, string> = {}) =>
    ((await ask(ADMIN, `POST api/v1/${path}/route.ts`, post(body, params))).body as { id: string }).id;
  const control = (kind: string, scope: object) => made("controls", { kind, scope, reason: mark });
  const mutedGroup = async () => {
    const fingerprints = [await groupOf(0)];
    await made("group-mutes", { fingerprints, source, more: 1_000, reason: mark });
    return idOf("select id from group_mutes where source = $1", [source]);
  };
  const select = { ids: [await event(0)] };
  const request = { select, mode: "verify", lane: "main", reason: mark };
  const ids = {
    event: await event(0),
    pending: await event(1),
    shared: await event(2),
    ofSource: await control("whitelist", { source }),
    narrowed: await control("whitelist", { errorCode: "SHARED", source }),
    ofCode: await control("whitelist", { errorCode: mark.toUpperCase() }),
    ofEvent: await control("whitelist", { eventId: `${mark}-event-1` }),
    ofAggregate: await control("whitelist", { aggregateId: `${mark}-aggregate-1` }),
    redrive: await made("redrives", request),
    rule: await made("admission-rules", { name: mark, source, when: [], do: { group: mark }, reason: mark }),
    redriveRule: await made("redrive-rules", {
      name: mark,
      filter: { source: [source] },
      delayMs: 60_000,
      reason: mark,
    }),
    recipe: await made("recipes", { name: mark, recipe: RECIPE, source }),
    schema: await made(
      "sources/[name]/schemas",
      { eventType: mark, schema: { title: mark }, reason: mark },
      { name: source },
    ),
    alertRule: await made("alert-rules", {
      name: mark,
      watch: { kind: "size", above: 1, sources: [source] },
      reason: mark,
    }),
    channel: await made("channels", {
      name: mark,
      sources: [source],
      config: { kind: "webhook", url: `https://${mark}.example.com` },
    }),
    maintenance: await made("maintenances", {
      sources: [source],
      until: new Date(Date.now() + 3_600_000).toISOString(),
      reason: mark,
    }),
    alert: await idOf(
      `insert into alerts (id, rule_id, rule_name, kind, severity, key, source, subject, state, since, fired_at, sentence)
       values (gen_random_uuid(), gen_random_uuid(), $1, 'size', 'warning', $1, $1, '{}', 'firing', now(), now(), $1) returning id`,
      [mark],
    ),
    group: await groupOf(0),
    mute: await mutedGroup(),
    maskRule: await made("mask-rules", { kind: "key", pattern: `${mark}-name`, source }),
    marker: await made("markers", { kind: "note", label: mark, source }),
    forget: await made("forget", { key: { tag: { name: "nobody", value: `${mark}-nobody` } }, reason: mark }),
    verification: await made("audit-verifications", {}),
    view: await made("saved-views", { name: mark, filter: { source: [source] } }),
    operation: uuidv7(Date.now()),
    archived: uuidv7(Date.now()),
  };
  await web.deps.db.run(
    `with object as (
       insert into archive_objects (id, operation_id, source, key, events, bytes, sha256, removed_by, removed_at)
       values ($1, $2, $3, $3, 1, 1, '', $3, now()))
     insert into archived_events (id, object_id, source_id, source, event_id, aggregate_id, error_code, status, payload_bytes)
     select $1, $1, id, name, $3, $3 || '-aggregate', 'X', 'IGNORED', 1 from sources where name = $3`,
    [ids.archived, ids.operation, source],
  );
  await ask(ADMIN, "POST api/v1/events/ignore/route.ts", post({ select: { ids: [ids.event] }, reason: mark }));
  await ask(ADMIN, "POST api/v1/events/ignore/route.ts", post({ select: { ids: [ids.pending] }, reason: mark }));
  await ask(ADMIN, "POST api/v1/events/release/route.ts", post({ select: { ids: [ids.pending] }, reason: mark }));
  await web.deps.db.run(
    `insert into bulk_operations (id, kind, state, selection, cutoff, expected, expected_kind, audit_id, created_by, reason)
     select $1, 'ignore', 'RUNNING', jsonb_build_object('filter', jsonb_build_object('source', jsonb_build_array($2::text))),
            $1, 1, 'exact', max(id::text)::uuid, $2, $2 from audit_entries`,
    [ids.operation, source],
  );
  const change = { ratePerSecond: 7, reason: mark };
  await ask(ADMIN, "PATCH api/v1/targets/[name]/route.ts", { body: change, params: { name: source } });
  await ask(ADMIN, "PATCH api/v1/sources/[name]/route.ts", {
    body: { enabled: true, reason: mark },
    params: { name: source },
  });
  await ask(ADMIN, "PUT api/v1/stops/targets/[name]/route.ts", post({ reason: mark }, { name: source }));
  const entry = "select id from audit_entries where reason = $1 and subject_kind = 'event' order by id limit 1";
  return { ...ids, entry: await idOf(entry, [mark]) };
}

beforeAll(async () => {
  archive = await mkdtemp(join(tmpdir(), "parkade-archive-"));
  web = await testConsole({ PARKADE_ARCHIVE: `file://${archive}` });
  // The other source comes first, so that the group of both was begun by it.
  await addSource(web.deps.db, "zzb");
  await web.deps.db.run("update targets set contract = $1 where name = 'zzb'", [CONTRACT_DEFAULTS]);
  await web.deps.db.run("update sources set contract = $1 where name = 'zzb'", [
    { ...SOURCE_CONTRACT_DEFAULTS, callerDeadlineMs: 9 },
  ]);
  await addSource(web.deps.db, "orders");
  await web.deps.db.run("update sources set contract = $1 where name = 'orders'", [
    { ...SOURCE_CONTRACT_DEFAULTS, callerDeadlineMs: 9 },
  ]);
  other = await furnish("zzb");
  own = await furnish("orders");
  const both = { ids: [other.shared!, own.shared!] };
  const spanning = post({ select: both, mode: "verify", lane: "main", reason: "both" });
  other.spanning = ((await ask(ADMIN, "POST api/v1/redrives/route.ts", spanning)).body as { id: string }).id;
  const approval = `insert into approvals (id, subject_kind, subject_id, state, causes, terms, digest, asked_by, expires_at)
    select gen_random_uuid(), 'redrive', $1, 'asked', '[]', $2::jsonb, $3, 'zzb-asker', now() + interval '1 h'`;
  const terms = { manifest: "", events: 1, lane: "main", target: null, ratePerSecond: null, canary: null, brake: null };
  const rest = { earlier: "hold", despite: [], recipe: null };
  await web.deps.db.run(approval, [other.redrive, JSON.stringify({ ...terms, ...rest }), DIGEST]);
  const entry = "select id from audit_entries where redrive_id = $1 order by id limit 1";
  other.spanningEntry = await idOf(entry, [other.spanning]);
  // The newest event of the group that both have is the other's.
  const letter = deadLetter({
    eventId: "zzb-event-last",
    errorCode: "SHARED",
    error: { type: "Shared", message: "shared", stack: null },
  });
  await parkEvents(web.deps, [{ source: "zzb", letter }], ADMIN);
  other.last = await idOf("select id from dlq_events where event_id = 'zzb-event-last'");
  hidden = Object.values(other);
});
afterAll(async () => {
  await web.close();
  await rm(archive, { recursive: true });
});

const DIGEST = "0".repeat(64);

/** The handlers of GET by their paths below `api/v1`. */
const gets = (table: Record<string, () => Case[]>) =>
  Object.fromEntries(Object.entries(table).map(([path, cases]) => [`GET api/v1/${path}/route.ts`, cases]));

/** The requests of each GET: with a name from the other source, and without a name. */
const READS = gets({
  "admission-rules": () => [{}],
  "admission-rules/[id]": () => [{ params: { id: other.rule! } }],
  "alert-rules": () => [{}],
  "alert-rules/[id]": () => [{ params: { id: other.alertRule! } }],
  alerts: () => [{}, { query: "?source=zzb" }],
  "alerts/[id]": () => [{ params: { id: other.alert! } }],
  channels: () => [{}],
  "channels/[name]": () => [{ params: { name: "zzb" } }],
  "channels/[name]/deliveries": () => [{ params: { name: "zzb" } }],
  maintenances: () => [{}, { query: "?state=live" }],
  "group-mutes": () => [{}, { query: "?state=live" }, { query: `?fingerprint=${other.group}` }],
  "groups/[fingerprint]": () => [
    { params: { fingerprint: other.group! } },
    { params: { fingerprint: other.group! }, query: "?source=zzb" },
  ],
  markers: () => [{}],
  "mask-rules": () => [{}],
  "approvals/[id]": () => [{ params: { id: other.redrive! } }],
  approvals: () => [{}, { query: "?state=asked" }],
  archive: () => [
    {},
    { query: "?source=zzb" },
    { query: "?aggregateId=zzb-aggregate" },
    { query: `?id=${other.archived}` },
  ],
  "audit/[id]/events": () => [other.entry!, other.spanningEntry!].map((id) => ({ params: { id } })),
  "audit/export": () => [{}, { query: "?subjectKind=source" }],
  audit: () => [
    {},
    { query: `?eventId=${other.event}` },
    { query: `?redriveId=${other.redrive}` },
    { query: `?redriveId=${other.spanning}` },
    { query: "?subjectKind=source" },
    { query: "?subjectKind=view" },
    { query: "?subjectKind=target" },
    { query: "?subjectKind=control" },
    { query: "?subjectKind=rule" },
    { query: "?subjectKind=redrive-rule" },
    { query: "?actor=zzb-parker" },
  ],
  controls: () => [{}, { query: "?state=live" }],
  "events/[id]/neighbours": () => [{ params: { id: own.event! } }, { params: { id: other.event! } }],
  "events/[id]/tail": () => [{ params: { id: other.event! } }],
  "events/[id]/payload": () => [{ params: { id: other.event! }, query: "?reason=test" }],
  "events/[id]/revisions": () => [{ params: { id: other.event! } }],
  "events/[id]/revisions/[revision]": () => [{ params: { id: other.event!, revision: "1" } }],
  "events/[id]/revisions/compare": () => [{ params: { id: other.event! }, query: "?from=1&to=1" }],
  "events/[id]": () => [{ params: { id: other.event! } }],
  "events/count": () =>
    ["", "?source=zzb", "?q=zzb", "?errorCode=ZZB", "?status=BLACKLISTED"].map((query) => ({ query })),
  "events/export": () => [{ query: "?reason=test" }, { query: "?source=zzb&format=csv" }],
  "events/meanings": () =>
    ["zzb-event-0", "zzb-aggregate-0", "ZZB", other.event!].map((text) => ({ query: `?text=${text}` })),
  events: () =>
    [
      "",
      "?source=zzb",
      "?source=zzb,orders",
      "?errorCode=ZZB",
      "?q=zzb",
      "?eventId=zzb-event-0",
      "?tag.mark=zzb",
      "?status=IGNORED",
    ].map((query) => ({ query })),
  forget: () => [{}],
  "forget/[id]": () => [{ params: { id: other.forget! } }],
  groups: () => [{}, { query: "?source=zzb" }, { query: "?errorCode=SHARED" }, { query: "?eventType=zzb" }],
  kinds: () => [{}],
  "openapi.json": () => [{}],
  "operations/[id]": () => [{ params: { id: other.operation! } }],
  operations: () => [{}],
  contracts: () => [{}],
  "contracts/[name]": () => [{ params: { name: "zzb" } }],
  "sources/[name]/contract": () => [{ params: { name: "zzb" } }, { params: { name: "orders" } }],
  "policies/[name]": () => [{ params: { name: "slow-lane" } }],
  policies: () => [{}],
  "redrive-rules": () => [{}],
  "redrive-rules/[id]": () => [{ params: { id: other.redriveRule! } }],
  recipes: () => [{}],
  "redrives/[id]/causes": () => [other.redrive!, other.spanning!].map((id) => ({ params: { id } })),
  "redrives/[id]/check": () => [other.redrive!, other.spanning!].map((id) => ({ params: { id } })),
  "redrives/[id]/export": () => [other.redrive!, other.spanning!].map((id) => ({ params: { id } })),
  "redrives/[id]/items": () => [other.redrive!, other.spanning!].map((id) => ({ params: { id } })),
  "redrives/[id]/rate": () => [other.redrive!, other.spanning!].map((id) => ({ params: { id } })),
  "redrives/[id]": () => [other.redrive!, other.spanning!].map((id) => ({ params: { id } })),
  redrives: () => [{}],
  retention: () => [{}],
  "retention/preview": () => [{}],
  "saved-views": () => [{}],
  settings: () => [{}],
  "schemas/[id]": () => [{ params: { id: other.schema! } }],
  "sources/[name]/schemas": () => [{ params: { name: "zzb" } }],
  "sources/[name]": () => [{ params: { name: "zzb" } }],
  sources: () => [{}],
  "stats/age": () => [{}, { query: "?source=zzb" }],
  "stats/flow": () => [{}, { query: "?source=zzb" }],
  "stats/markers": () => [{}],
  "stats/differences": () => [{}, { query: "?source=zzb" }, { query: "?against=hour" }],
  "stats/redrive-success": () => [{}, { query: "?source=zzb" }],
  "stats/size": () => [{}, { query: "?source=zzb" }, { query: "?errorCode=ZZB" }],
  "stats/top-errors": () => [{}, { query: "?source=zzb" }, { query: "?from=-1h" }],
  status: () => [{}],
  stops: () => [{}],
  "targets/[name]": () => [{ params: { name: "zzb" } }],
  targets: () => [{}],
});

/** Each change of the other source. `alone`: the viewer with read access is refused too. */
const CHANGES: Record<string, () => Case[]> = {
  "POST api/v1/admission-rules/route.ts": () =>
    [{ source: "zzb" }, {}].map((of) => post({ name: "mine", when: [], do: { park: "early" }, reason: "no", ...of })),
  "PATCH api/v1/admission-rules/[id]/route.ts": () => [
    post({ enabled: true, reason: "no" }, { id: other.rule! }),
    post({ source: "zzb", reason: "no" }, { id: own.rule! }),
    post({ source: null, reason: "no" }, { id: own.rule! }),
  ],
  "DELETE api/v1/admission-rules/[id]/route.ts": () => [post({ reason: "no" }, { id: other.rule! })],
  "POST api/v1/admission-rules/try/route.ts": () => [
    post({ rule: { source: "zzb", when: [], do: { park: "early" } } }),
  ],
  "POST api/v1/alert-rules/route.ts": () =>
    [{ sources: ["zzb"] }, {}].map((of) =>
      post({ name: "mine", watch: { kind: "size", above: 1, ...of }, reason: "no" }),
    ),
  "PATCH api/v1/alert-rules/[id]/route.ts": () => [
    post({ enabled: false, reason: "no" }, { id: other.alertRule! }),
    post({ watch: { kind: "size", above: 1, sources: ["zzb"] } }, { id: own.alertRule! }),
  ],
  "DELETE api/v1/alert-rules/[id]/route.ts": () => [post({ reason: "no" }, { id: other.alertRule! })],
  "POST api/v1/alert-rules/try/route.ts": () => [post({ watch: { kind: "size", above: 1, sources: ["zzb"] } })],
  "POST api/v1/alerts/acknowledge/route.ts": () => [post({ ids: [other.alert!] })],
  "POST api/v1/channels/route.ts": () =>
    [["zzb"], null].map((sources) =>
      post({ name: "mine", sources, config: { kind: "webhook", url: "https://mine.example.com" } }),
    ),
  "PATCH api/v1/channels/[name]/route.ts": () => [
    post({ enabled: false }, { name: "zzb" }),
    post({ sources: ["zzb"] }, { name: "orders" }),
    post({ sources: null }, { name: "orders" }),
  ],
  "DELETE api/v1/channels/[name]/route.ts": () => [post({ reason: "no" }, { name: "zzb" })],
  "POST api/v1/channels/[name]/test/route.ts": () => [post(undefined, { name: "zzb" })],
  "POST api/v1/group-mutes/route.ts": () =>
    [{ source: "zzb" }, { source: null }, { source: "orders" }].map((of) =>
      post({ fingerprints: [other.group!], more: 10, reason: "no", ...of }),
    ),
  "DELETE api/v1/group-mutes/[id]/route.ts": () => [{ params: { id: other.mute! } }],
  "POST api/v1/groups/[fingerprint]/merge/route.ts": () => [
    post({ into: own.group, reason: "no" }, { fingerprint: other.group! }),
    post({ into: other.group, reason: "no" }, { fingerprint: own.group! }),
  ],
  "DELETE api/v1/groups/[fingerprint]/merge/route.ts": () => [{ params: { fingerprint: other.group! } }],
  "POST api/v1/mask-rules/route.ts": () =>
    ["zzb", undefined].map((source) => post({ kind: "key", pattern: "mine", ...(source ? { source } : {}) })),
  "PATCH api/v1/mask-rules/[id]/route.ts": () => [post({ enabled: false }, { id: other.maskRule! })],
  "DELETE api/v1/mask-rules/[id]/route.ts": () => [{ params: { id: other.maskRule! } }],
  "POST api/v1/events/[id]/reveal/route.ts": () => [post({ reason: "no" }, { id: other.pending! })],
  "POST api/v1/markers/route.ts": () => [post({ label: "no", source: "zzb" }), post({ label: "no" })],
  "DELETE api/v1/markers/[id]/route.ts": () => [{ params: { id: other.marker! } }],
  "POST api/v1/maintenances/route.ts": () =>
    [["zzb"], null].map((sources) =>
      post({ sources, until: new Date(Date.now() + 3_600_000).toISOString(), reason: "no" }),
    ),
  "DELETE api/v1/maintenances/[id]/route.ts": () => [{ params: { id: other.maintenance! } }],
  "PATCH api/v1/approvals/[id]/route.ts": () => [
    post({ decision: "approve", digest: DIGEST, reason: "no" }, { id: other.redrive! }),
  ],
  "POST api/v1/archive/restore/route.ts": () => [post({ ids: [other.archived!] })],
  "POST api/v1/controls/route.ts": () =>
    [{ source: "zzb" }, { errorCode: "X", source: "zzb" }, { errorCode: "X" }, { aggregateId: "X" }].map((scope) =>
      post({ kind: "blacklist", scope, reason: "no" }),
    ),
  "DELETE api/v1/controls/[id]/route.ts": () =>
    ["ofSource", "narrowed", "ofCode", "ofEvent"].map((name) => post({ reason: "no" }, { id: other[name]! })),
  "POST api/v1/controls/lift/route.ts": () =>
    [{ source: "zzb" }, { origin: "automatic" }].map((filter) => post({ filter, reason: "no" })),
  "POST api/v1/forget/route.ts": () =>
    ["zzb", undefined].map((source) =>
      post({ key: { tag: { name: "mark", value: "zzb" } }, ...(source ? { source } : {}), reason: "no" }),
    ),
  "POST api/v1/forget/preview/route.ts": () => [post({ key: { aggregateId: "zzb-aggregate-0" } })],
  "POST api/v1/events/route.ts": () => [
    { body: { source: "zzb", eventId: "x", errorCode: "X", payload: {} } },
    { query: "?source=zzb", body: [{ eventId: "x", errorCode: "X", payload: {} }] },
  ],
  "POST api/v1/events/confirm/route.ts": () => [
    post({ source: "zzb", eventIds: ["zzb-event-0"] }),
    post({ select: { ids: [other.pending!] }, reason: "no" }),
  ],
  "POST api/v1/events/ignore/route.ts": () => [
    post({ select: { ids: [other.pending!] }, reason: "no" }),
    post({ select: { filter: { source: ["zzb"] } }, reason: "no" }),
    post({ select: { filter: { errorCode: ["ZZB"] } }, reason: "no" }),
  ],
  "POST api/v1/events/[id]/revisions/route.ts": () => [
    post({ base: 1, text: "{}", reason: "no" }, { id: other.pending! }),
  ],
  "POST api/v1/events/[id]/revisions/restore/route.ts": () => [
    post({ base: 1, revision: 2, reason: "no" }, { id: other.pending! }),
  ],
  "POST api/v1/events/mend/route.ts": () => [
    post({ select: { ids: [other.pending!] }, recipe: RECIPE, reason: "no" }),
    post({ select: { filter: { source: ["zzb"] } }, recipe: RECIPE, reason: "no" }),
    post({ select: { filter: { errorCode: ["ZZB"] } }, recipe: RECIPE, reason: "no" }),
  ],
  "POST api/v1/events/mend/preview/route.ts": () => [post({ select: { filter: { source: ["zzb"] } }, recipe: RECIPE })],
  "POST api/v1/events/mend/count/route.ts": () => [post({ select: { filter: { source: ["zzb"] } }, recipe: RECIPE })],
  "POST api/v1/events/undo-mend/route.ts": () => [post({ select: { operation: other.operation! }, reason: "no" })],
  "POST api/v1/events/remove/route.ts": () => [
    post({ select: { ids: [other.event!] }, reason: "no" }),
    post({ select: { filter: { source: ["zzb"] } }, reason: "no" }),
    post({ select: { filter: { errorCode: ["ZZB"] } }, reason: "no" }),
  ],
  "POST api/v1/events/remove/preview/route.ts": () => [post({ select: { filter: { source: ["zzb"] } } })],
  "POST api/v1/events/release/route.ts": () => [
    post({ select: { ids: [other.event!] }, reason: "no" }),
    post({ select: { filter: { eventId: ["zzb-event-0"] } }, reason: "no" }),
  ],
  "PATCH api/v1/operations/[id]/route.ts": () => [post({ action: "cancel" }, { id: other.operation! })],
  "PUT api/v1/policies/[name]/route.ts": () => [post({ body: {}, reason: "no" }, { name: "patient" })],
  "POST api/v1/redrive-rules/route.ts": () =>
    [{ source: ["zzb", "orders"] }, { errorCode: ["X"] }].map((filter) =>
      post({ name: "mine", filter, delayMs: 60_000, reason: "no" }),
    ),
  "PATCH api/v1/redrive-rules/[id]/route.ts": () => [
    post({ position: 1, reason: "no" }, { id: other.redriveRule! }),
    post({ filter: { source: ["zzb"] }, reason: "no" }, { id: own.redriveRule! }),
    post({ filter: { errorCode: ["X"] }, reason: "no" }, { id: own.redriveRule! }),
  ],
  "DELETE api/v1/redrive-rules/[id]/route.ts": () => [post({ reason: "no" }, { id: other.redriveRule! })],
  "POST api/v1/redrive-rules/try/route.ts": () =>
    [{ source: ["zzb"] }, { errorCode: ["X"] }].map((filter) => post({ rule: { filter, delayMs: 60_000 } })),
  "POST api/v1/recipes/route.ts": () => ["zzb", null].map((source) => post({ name: "mine", recipe: RECIPE, source })),
  "DELETE api/v1/recipes/[id]/route.ts": () => [{ params: { id: other.recipe! } }],
  "PATCH api/v1/redrives/[id]/route.ts": () =>
    [other.redrive!, other.spanning!].flatMap((id) =>
      [{ action: "cancel" }, { ratePerSecond: 3 }, { lane: "slow" }].map((body) => post(body, { id })),
    ),
  "POST api/v1/redrives/preview/route.ts": () => [post({ select: { filter: { source: ["zzb"] } } })],
  "POST api/v1/redrives/route.ts": () => [
    post({ select: { ids: [other.pending!] }, reason: "no" }),
    post({ select: { filter: { source: ["zzb", "orders"] } }, reason: "no" }),
    post({ select: { filter: { q: "zzb" } }, reason: "no" }),
    post({ select: { ids: [own.pending!] }, target: "zzb", reason: "no" }),
  ],
  "DELETE api/v1/saved-views/[id]/route.ts": () => [{ params: { id: other.view! } }],
  "POST api/v1/saved-views/route.ts": () => [post({ name: "mine", filter: { source: ["zzb"] } })],
  "PUT api/v1/retention/route.ts": () => [post({ days: 9, rules: [], reason: "no" })],
  "PATCH api/v1/settings/route.ts": () => [post({ settings: { redriveLimit: 9 }, reason: "no" })],
  "POST api/v1/sources/[name]/probe/route.ts": () => [{ params: { name: "zzb" } }],
  "POST api/v1/sources/[name]/retry/route.ts": () => [{ method: "POST", params: { name: "zzb" } }],
  "POST api/v1/sources/[name]/targets/route.ts": () => [
    post({ name: "mine", destination: { redriveUrl: "https://mine.example" }, reason: "no" }, { name: "zzb" }),
  ],
  "PATCH api/v1/schemas/[id]/route.ts": () => [post({ current: false, reason: "no" }, { id: other.schema! })],
  "POST api/v1/sources/[name]/schemas/route.ts": () => [post({ schema: {}, reason: "no" }, { name: "zzb" })],
  "POST api/v1/sources/[name]/schemas/infer/route.ts": () => [post({ eventType: "zzb" }, { name: "zzb" })],
  // A schema asks a question of each payload, masked fields included.
  "POST api/v1/sources/[name]/schemas/try/route.ts": () => [post({ schema: { const: "x" } }, { name: "zzb" })],
  "PATCH api/v1/sources/[name]/route.ts": () => [post({ enabled: false }, { name: "zzb" })],
  "DELETE api/v1/sources/[name]/route.ts": () => [{ params: { name: "zzb" } }],
  "POST api/v1/sources/route.ts": () => [post({ name: "third", kind: "http" })],
  "PUT api/v1/events/[id]/skip/route.ts": () => [post({ reason: "no" }, { id: other.pending! })],
  "DELETE api/v1/events/[id]/skip/route.ts": () => [{ params: { id: other.pending! } }],
  "PUT api/v1/stops/everything/route.ts": () => [post({ reason: "no" })],
  "DELETE api/v1/stops/everything/route.ts": () => [{}],
  "PUT api/v1/stops/targets/[name]/route.ts": () => [post({ reason: "no" }, { name: "zzb" })],
  "DELETE api/v1/stops/targets/[name]/route.ts": () => [{ params: { name: "zzb" } }],
  "PATCH api/v1/targets/[name]/route.ts": () => [post({ ratePerSecond: 3, reason: "no" }, { name: "zzb" })],
  "DELETE api/v1/targets/[name]/route.ts": () => [{ params: { name: "zzb" } }],
  "POST ops/dlq/redrive/route.ts": () => [{ query: "?source=zzb" }, { query: "?eventId=zzb-event-1" }],
};

/** Open to every viewer: they change no event, source or setting, and read what their bodies name. */
const OF_NO_SOURCE: Record<string, () => Case[]> = {
  "POST api/v1/sources/preview-mapping/route.ts": () => [post({ mapping: {}, samples: [] })],
  "POST api/v1/sources/probe/route.ts": () => [post({ kind: "http", config: {} })],
};

/** Read by who may view: they hold what their bodies bring against what is stored. */
const READS_BY_POST: Record<string, () => Case[]> = {
  "POST api/v1/archive/verify/route.ts": () => [post({ operation: other.operation! }), post({ source: "zzb" })],
  "POST api/v1/retention/preview/route.ts": () => [post({ days: 7, rules: [] })],
  "POST api/v1/mask-rules/trial/route.ts": () => [post({ eventId: other.event! }), post({ text: "{}", source: "zzb" })],
  "POST api/v1/schemas/check/route.ts": () => [post({ source: "zzb", eventType: "zzb", text: "{}" })],
};

/** Read without naming a source: they hold nothing of one. */
const OF_EVERY_VIEWER = [
  "kinds",
  "openapi.json",
  "settings",
  "retention",
  "retention/preview",
  "policies/[name]",
  "events/[id]/neighbours",
  "stats/age",
  "redrives/[id]/rate",
].map((path) => `GET api/v1/${path}/route.ts`);

/** Read by who sees every source: the chain runs through all. */
const OF_ALL_SOURCES: Record<string, () => Case[]> = {
  "POST api/v1/audit-verifications/route.ts": () => [post({})],
  "GET api/v1/audit/chain/route.ts": () => [{}],
  "GET api/v1/audit-verifications/[id]/route.ts": () => [{ params: { id: other.verification! } }],
};

/** Of accounts, sessions and tokens, and of no source: `sign-in.itest.ts` asks them by real sessions. */
const OF_ACCOUNTS = /^api\/v1\/(me|sign-in|sign-out|account|accounts|account-links|device-sign-ins|tokens)\//;

const served = [...ROUTES.keys()].filter((path) => /^(api\/v1|ops)\//.test(path) && !OF_ACCOUNTS.test(path));

async function methodsOf(): Promise<string[]> {
  const all = await Promise.all(
    served.map(async (path) => Object.keys(await handlersOf(path)).map((method) => `${method} ${path}`)),
  );
  return all.flat();
}

test("every method of every route is asked", async () => {
  const asked = Object.keys({ ...READS, ...OF_ALL_SOURCES, ...CHANGES, ...OF_NO_SOURCE, ...READS_BY_POST });
  expect(asked.sort()).toEqual((await methodsOf()).sort());
});

const requestsOf = (table: Record<string, () => Case[]>) =>
  Object.entries(table).flatMap(([route, cases]) => cases().map((options) => ({ route, options })));

const shows = (text: string) => hidden.some((id) => text.includes(id)) || /zzb/i.test(text);

describe("a viewer of one source", () => {
  test("what is for viewers of all sources is refused", async () => {
    for (const { route, options } of requestsOf(OF_ALL_SOURCES)) {
      expect.soft((await ask(CLERK, route, options)).status, route).toBe(403);
      expect.soft((await ask(ADMIN, route, options)).status, route).toBeLessThan(300);
    }
  });

  test("no GET shows anything of another", async () => {
    const shown = new Set<string>();
    for (const { route, options } of requestsOf(READS)) {
      const [mine, all] = [await ask(CLERK, route, options), await ask(ADMIN, route, options)];
      const what = `${route} ${JSON.stringify(options)}`;
      expect.soft(all.status, what).toBe(200);
      expect.soft([200, 404], what).toContain(mine.status);
      if (mine.status === 200) expect.soft(withoutAsked(mine.text), what).not.toSatisfy(shows);
      if (shows(all.text) || mine.text !== all.text) shown.add(route);
    }
    const alike = Object.keys(READS).filter((route) => !shown.has(route));
    expect(OF_EVERY_VIEWER).toEqual(expect.arrayContaining(alike));
  });

  /** A text that the answer repeats from its request is no leak: a source that the viewer does not see is none. */
  const withoutAsked = (text: string) =>
    text.replace(/"text":"[^"]*",/, "").replace(/"detail":"There is no source \\"zzb[^"\\]*\\""/, "");

  test.each([
    ["stats/size", "total"],
    ["stats/flow", "parked"],
  ])("GET %s counts its own events alone", async (path, name) => {
    const count = async (viewer: Viewer, query: string) => {
      const { body } = await ask(viewer, `GET api/v1/${path}/route.ts`, { query });
      const { buckets } = body as { buckets: Record<string, number>[] };
      return name === "total" ? buckets.at(-1)![name] : buckets.reduce((sum, bucket) => sum + bucket[name]!, 0);
    };
    expect(await count(CLERK, "")).toBe(await count(ADMIN, "?source=orders"));
    expect(await count(CLERK, "")).not.toBe(await count(ADMIN, ""));
    expect(await count(CLERK, "?source=zzb")).toBe(0);
  });

  test("sees what is its own", async () => {
    const { body } = await ask(CLERK, "GET api/v1/events/route.ts");
    expect((body as { items: unknown[] }).items).toHaveLength(3);
    for (const [path, id] of [
      ["events", own.event],
      ["redrives", own.redrive],
      ["operations", own.operation],
    ]) {
      expect((await ask(CLERK, `GET api/v1/${path}/[id]/route.ts`, { params: { id: id! } })).status).toBe(200);
    }
    const entries = await ask(CLERK, "GET api/v1/audit/route.ts", { query: "?limit=200" });
    const kinds = new Set((entries.body as { items: { subjectKind: string }[] }).items.map((item) => item.subjectKind));
    expect([...kinds].sort()).toEqual([
      "control",
      "event",
      "recipe",
      "redrive",
      "redrive-rule",
      "rule",
      "source",
      "target",
      "view",
    ]);
    const { items } = (await ask(CLERK, "GET api/v1/controls/route.ts")).body as { items: { id: string }[] };
    const names = ["ofSource", "narrowed", "ofCode", "ofEvent", "ofAggregate"];
    expect(items.map(({ id }) => id).sort()).toEqual(names.map((name) => own[name]!).sort());
  });

  test("stops and resumes the sends to a target of its own, and not all of them, as the page of targets offers", async () => {
    const name = { name: "orders" };
    for (const method of ["DELETE", "PUT"])
      expect(
        (await ask(CLERK, `${method} api/v1/stops/targets/[name]/route.ts`, post({ reason: "own" }, name))).status,
      ).toBe(200);
    const all = await ask(CLERK, "PUT api/v1/stops/everything/route.ts", post({ reason: "all" }));
    expect(all).toMatchObject({ status: 403, body: { errors: [{}, { field: "source", detail: "every source" }] } });
    expect(whyNot(CLERK, "redrive")).toBeNull();
    expect(whyNot(CLERK, "redrive", true)).toMatch(/only for orders/);
  });

  test("its own event counts the group's events of its own source, and names the redrive that took it along", async () => {
    const { body, text } = await ask(CLERK, "GET api/v1/events/[id]/route.ts", { params: { id: own.shared! } });
    expect(body).toMatchObject({ group: { parked: 1 } });
    expect(text).not.toMatch(/zzb/i);
    expect(text).toContain(other.spanning);
  });

  test("GET metrics holds no series of another", async () => {
    const [mine, all] = [await ask(CLERK, "GET metrics/route.ts"), await ask(ADMIN, "GET metrics/route.ts")];
    expect(mine.text).not.toMatch(/zzb/i);
    expect(all.text).toMatch(/zzb/i);
    expect(mine.text).toContain('source="orders"');
  });

  test("no change is made of another", async () => {
    const before = await stateOf();
    for (const { route, options } of requestsOf({ ...CHANGES, ...READS_BY_POST })) {
      const { status, body } = await ask(CLERK, route, options);
      const what = JSON.stringify({ route, options, body });
      expect.soft([403, 404, 422], what).toContain(status);
      const forbidden = { code: "forbidden", errors: [{ field: "action" }, { field: "source" }] };
      if (status === 403) expect.soft(body, what).toMatchObject(forbidden);
    }
    expect(await stateOf()).toEqual(before);
  });

  test("a filter without a source takes its own events alone", async () => {
    const request = { select: { filter: {} }, mode: "verify", lane: "main", reason: "mine" };
    const { body } = await ask(CLERK, "POST api/v1/redrives/route.ts", post(request));
    const redrive = body as { id: string; total: number };
    expect(redrive.total).toBe(3);
    const [row] = await web.deps.db.query<{ sources: string[] }>("select sources from redrives where id = $1", [
      redrive.id,
    ]);
    expect(row!.sources).toEqual(["orders"]);
  });
});

/** The action is asked for before the source: one request of a route is enough. */
const firstOf = (table: Record<string, () => Case[]>) =>
  Object.entries(table).map(([route, cases]) => ({ route, options: cases()[0]! }));

test("a viewer who may only view changes nothing and takes no copy", async () => {
  const before = await stateOf();
  const copies = Object.fromEntries(
    ["events/[id]/payload", "events/export", "redrives/[id]/export"].map((path) => {
      const id = path.startsWith("redrives") ? own.redrive! : own.event!;
      return [`GET api/v1/${path}/route.ts`, () => [{ params: { id } }]];
    }),
  );
  for (const { route, options } of firstOf({ ...CHANGES, ...OF_NO_SOURCE, ...copies })) {
    const { status, body } = await ask(READER, route, options);
    expect.soft({ status, body }, route).toMatchObject({
      ...{ status: 403, body: { code: "forbidden", errors: [{ field: "action" }] } },
    });
  }
  expect(await stateOf()).toEqual(before);
});

test("a viewer who may only send events reads nothing", async () => {
  const sender: Viewer = { ...READER, actions: ["ingest"] };
  for (const { route, options } of firstOf(READS)) {
    const open = route === "GET api/v1/openapi.json/route.ts";
    expect.soft((await ask(sender, route, options)).status, route).toBe(open ? 200 : 403);
  }
});

test("a viewer who may only send events sends them", async () => {
  const sender: Viewer = { name: "shop", means: "token", sources: ["orders"], actions: ["ingest"] };
  const sent = { source: "orders", eventId: "sent", errorCode: "X", payload: {} };
  expect((await ask(sender, "POST api/v1/events/route.ts", post(sent))).body).toMatchObject({ accepted: 1 });
  expect((await ask(CLERK, "POST api/v1/events/route.ts", post({ ...sent, source: ABSENT }))).status).toBe(403);
});

describe("events of several sources by a viewer of one", () => {
  const route = "POST api/v1/events/route.ts";
  /** One event for each source, in each form that holds several. */
  const FORMS: Record<string, (sources: readonly string[], mark: string) => Case> = {
    "an array": (sources, mark) => ({ body: sources.map(eventOf(mark)) }),
    "{ events }": (sources, mark) => ({ body: { events: sources.map(eventOf(mark)) } }),
    NDJSON: (sources, mark) => ({
      body: sources.map((source, at) => JSON.stringify(eventOf(mark)(source, at))).join("\n"),
      headers: { "content-type": "application/x-ndjson" },
    }),
    CloudEvents: (sources, mark) => ({
      body: sources.map((source, at) => ({
        ...{
          specversion: "1.0",
          id: `${mark}-${at}`,
          type: "t",
          source: "/shop",
          errorcode: "X",
          parkadesource: source,
        },
      })),
      headers: { "content-type": "application/cloudevents-batch+json" },
    }),
  };
  const eventOf = (mark: string) => (source: string, at: number) => ({
    ...{ source, eventId: `${mark}-${at}`, errorCode: "X", payload: {} },
  });
  const storedOf = (mark: string) =>
    web.deps.db.query("select event_id as id from dlq_events where event_id like $1 order by 1", [`${mark}-%`]);

  test.each(Object.entries(FORMS))("%s: its own are stored, each other one is refused", async (form, sent) => {
    const { status, body } = await ask(CLERK, route, sent(["zzb", "orders", ABSENT, "orders"], form));
    const detail = (source: string) => `clerk may not ingest for source "${source}": ask an administrator`;
    expect({ status, body }).toMatchObject({
      status: 202,
      body: {
        accepted: 2,
        rejected: [
          { index: 0, code: "forbidden", field: "source", detail: detail("zzb") },
          // The same words, whether there is such a source or not.
          { index: 2, code: "forbidden", field: "source", detail: detail(ABSENT) },
        ],
      },
    });
    expect(await storedOf(form)).toEqual([{ id: `${form}-1` }, { id: `${form}-3` }]);
  });

  test.each(Object.entries(FORMS))("%s of others alone is refused as a whole", async (form, sent) => {
    const { status, body } = await ask(CLERK, route, sent(["zzb", ABSENT], `none-${form}`));
    expect({ status, body }).toMatchObject({
      status: 403,
      body: { code: "forbidden", errors: [{ detail: "ingest" }, { field: "source", detail: "zzb" }] },
    });
  });

  test("a stream of others alone is not read to its end", async () => {
    let lines = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        lines += 1_000;
        const piece = Array.from({ length: 1_000 }, (_, at) => JSON.stringify(eventOf("stream")("zzb", at)));
        controller.enqueue(Buffer.from(`${piece.join("\n")}\n`));
      },
    });
    const answer = await ask(CLERK, route, { body, headers: { "content-type": "application/x-ndjson" } });
    expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(lines).toBeLessThan(20_000);
  });

  test("what is refused beside its own is a warning in the log, with who sent it", async () => {
    const warned: unknown[] = [];
    const log = Object.assign(Object.create(web.deps.log), { warn: (facts: unknown) => warned.push(facts) });
    setDeps({ ...web.deps, log, identify: () => CLERK } satisfies Deps);
    const { POST } = await handlersOf("api/v1/events/route.ts");
    await web.call(POST!, FORMS["an array"]!(["orders", "zzb", "zzb"], "warned"));
    expect(warned).toMatchObject([{ code: "forbidden", viewer: "clerk", events: 2, source: "zzb" }]);
  });
});

/** Every row that a change of this file could write. */
async function stateOf(): Promise<unknown> {
  const tables = [
    "dlq_events",
    "redrives",
    "redrive_items",
    "controls",
    "sources",
    "targets",
    "stops",
    "skipped_heads",
    "policies",
    "settings",
    "saved_views",
    "bulk_operations",
    "audit_entries",
    "admission_rules",
    "approvals",
    "event_revisions",
    "payload_schemas",
    "recipes",
    "redrive_rules",
    "redrive_rule_trials",
    "archive_objects",
    "archived_events",
    "forgets",
    "mask_rules",
  ];
  const rows = tables.map((table) =>
    web.deps.db.query(`select md5(coalesce(string_agg(t::text, ',' order by t::text), '')) as rows from ${table} t`),
  );
  return (await Promise.all(rows)).map(([row], index) => [tables[index], row]);
}

describe("a viewer who may not reveal", () => {
  const VIEWS: Viewer = { name: "reader", means: "token", sources: "all", actions: ["view", "export"] };
  const credentials = ["hunter-ada", "hunter-bob", "hunter-cyd", "hunter-dan"];
  const shown = (text: string) => credentials.filter((secret) => text.includes(secret));

  beforeAll(async () => {
    const letter = (eventId: string, payload: string) => ({
      source: "orders",
      letter: deadLetter({
        eventId,
        errorCode: "LOGIN",
        error: { type: "Login", message: "login failed: password=hunter-ada", stack: "at login(token: hunter-bob)" },
        headers: [["authorization", "Bearer hunter-cyd"]],
        origin: { queue: "orders", properties: { headers: { "x-api-key": "hunter-cyd" } } } as never,
        payload: Buffer.from(payload),
      }),
    });
    const arrivals = [
      letter("json", '{"card":{"token":"hunter-dan"},"n":1.50}'),
      letter("text", "token is hunter-dan"),
      letter("repaired", '{"card":{"token":"hunter-dan"},"n":1.50}'),
    ];
    await parkEvents(web.deps, arrivals, ADMIN);
  });

  test("sees no credential of a recipe, wherever it is shown, and cannot mend by what it sees", async () => {
    const recipe = { kind: "form", steps: [{ op: "set", at: "/card/token", value: "hunter-ada" }] };
    const saved = await ask(ADMIN, "POST api/v1/recipes/route.ts", post({ name: "tokens", recipe, source: null }));
    expect(saved.status, saved.text).toBe(201);
    await ask(ADMIN, "PATCH api/v1/settings/route.ts", post({ settings: { approvalAbove: 1 }, reason: "two" }));
    const select = { filter: { errorCode: ["LOGIN"] } };
    const mend = await ask(ADMIN, "POST api/v1/events/mend/route.ts", post({ select, recipe, reason: "tokens" }));
    expect(mend.status, mend.text).toBe(202);
    const params = { id: (mend.body as { id: string }).id };
    await ask(ADMIN, "PATCH api/v1/settings/route.ts", post({ settings: { approvalAbove: 0 }, reason: "one" }));
    for (const [path, options] of [
      ["recipes", {}],
      ["operations", {}],
      ["operations/[id]", { params }],
      ["approvals", {}],
      ["approvals/[id]", { params }],
      ["audit", { query: "?limit=200" }],
    ] as const) {
      const route = `GET api/v1/${path}/route.ts`;
      const [masked, whole] = [await ask(VIEWS, route, options), await ask(ADMIN, route, options)];
      expect(shown(masked.text), path).toEqual([]);
      expect(shown(whole.text), path).toEqual(["hunter-ada"]);
    }
    const { body } = await ask(VIEWS, "GET api/v1/recipes/route.ts");
    const seen = (body as { items: { name: string; recipe: object }[] }).items.find(({ name }) => name === "tokens");
    for (const of of [
      seen!.recipe,
      { kind: "json-patch", patch: `[{"op":"add","path":"/a","value":"${"\\u2022".repeat(6)}"}]` },
    ]) {
      const again = await ask(ADMIN, "POST api/v1/events/mend/route.ts", post({ select, recipe: of, reason: "no" }));
      expect(again.body, JSON.stringify(of)).toMatchObject({ code: "invalid-recipe" });
    }
  });

  test("sees no credential in any answer about repair, and none in what is refused", async () => {
    const editor: Viewer = { ...VIEWS, actions: ["view", "export", "edit", "redrive", "change-source"] };
    const id = await idOf("select id from dlq_events where event_id = 'repaired'");
    const text = '{"card":{"token":"hunter-ada"},"n":2}';
    const params = { id };
    const edit = { base: 1, text, reason: "known" };
    const edited = await ask(ADMIN, "POST api/v1/events/[id]/revisions/route.ts", post(edit, params));
    expect(edited.status, edited.text).toBe(201);
    const select = { ids: [id] };
    const step = (...steps: object[]) => ({ kind: "form", steps });
    const recipes = [
      step({ op: "copy", from: "/card/token", to: "/open" }),
      step({ op: "copy", from: "/card", to: "/open" }),
      step({ op: "move", from: "", to: "/open" }, { op: "set", at: "/m", value: 1 }),
      step({ op: "rename", at: "/card", to: "open" }),
      step({ op: "rename", at: "/card/token", to: "open" }),
      step({ op: "convert", at: "/card", to: "json-text" }),
      step({ op: "convert", at: "/card/token", to: "number" }),
      step({ op: "set", at: "/n", value: 3, when: { at: "/card/token", equals: "hunter-ada" } }),
      step({ op: "set", at: "/n", value: 3, when: { at: "/card", matches: "*hunter-a*" } }),
      step({ op: "copy", from: "header:authorization", to: "/open" }),
      step({ op: "rename", at: "header:authorization", to: "open" }),
      step({ op: "set", at: "/n", value: 3 }),
      { kind: "json-patch", patch: [{ op: "copy", from: "/card/token", path: "/open" }] },
      { kind: "json-patch", patch: [{ op: "test", path: "/card", value: { token: "hunter-ad" } }] },
      { kind: "json-patch", patch: [{ op: "replace", path: "", value: {} }] },
      { kind: "json-patch", patch: [{ op: "remove", path: "/card" }] },
      { kind: "json-patch", patch: {} },
    ];
    const masked = text.replace("hunter-ada", "••••••");
    const asked: [string, Case][] = [
      ["GET api/v1/events/[id]/revisions/route.ts", { params }],
      ["GET api/v1/events/[id]/revisions/[revision]/route.ts", { params: { id, revision: "1" } }],
      ["GET api/v1/events/[id]/revisions/[revision]/route.ts", { params: { id, revision: "2" } }],
      ["GET api/v1/events/[id]/revisions/compare/route.ts", { params, query: "?from=1&to=2" }],
      ["GET api/v1/events/[id]/payload/route.ts", { params, query: "?revision=2&reason=no" }],
      ["GET api/v1/events/[id]/route.ts", { params }],
      ["GET api/v1/events/[id]/tail/route.ts", { params }],
      ["GET api/v1/audit/route.ts", { query: "?limit=200" }],
      ["GET api/v1/events/export/route.ts", { query: "?errorCode=LOGIN&body=true" }],
      ["POST api/v1/events/[id]/revisions/route.ts", post({ ...edit, base: 2, text: `${masked} ` }, params)],
      ["POST api/v1/events/[id]/revisions/route.ts", post({ ...edit, base: 2, text: "{}" }, params)],
      ["POST api/v1/events/[id]/revisions/route.ts", post({ ...edit, base: 2, text: `x${masked}` }, params)],
      ["POST api/v1/redrives/preview/route.ts", post({ select })],
      ["POST api/v1/sources/[name]/schemas/infer/route.ts", post({}, { name: "orders" })],
      ...["type", "const", "enum", "pattern"].map((keyword): [string, Case] => {
        const demand = { type: "number", const: "x", enum: ["x"], pattern: "^x" }[keyword];
        const schema = { properties: { card: { properties: { token: { [keyword]: demand } } } } };
        return [
          "POST api/v1/sources/[name]/schemas/try/route.ts",
          post({ eventType: "OrderCreated", schema }, { name: "orders" }),
        ];
      }),
      ...recipes.flatMap((recipe): [string, Case][] => [
        ["POST api/v1/events/mend/preview/route.ts", post({ select, recipe })],
        ["POST api/v1/events/mend/count/route.ts", post({ select, recipe })],
        ["POST api/v1/events/mend/route.ts", post({ select, recipe, reason: "known" })],
      ]),
    ];
    let previewed = 0;
    for (const [route, options] of asked) {
      const answer = await ask(editor, route, options);
      const what = `${route} ${JSON.stringify(options)} ${answer.text}`;
      expect(answer.status, what).not.toBe(500);
      expect(shown(answer.text), what).toEqual([]);
      if (answer.text.includes('"outcome":"')) previewed++;
    }
    expect(previewed).toBeGreaterThan(10);
    // And nothing of it was stored for the others.
    const stored = await web.deps.db.query(
      "select convert_from(payload, 'utf8') as text from event_revisions where id = $1",
      [id],
    );
    for (const row of stored) expect(row.text).toContain("hunter-ada");
  });

  test.each(["json", "text"])("sees no credential of an event whose payload is %s", async (eventId) => {
    const params = { id: await idOf("select id from dlq_events where event_id = $1", [eventId]) };
    const masked = await ask(VIEWS, "GET api/v1/events/[id]/route.ts", { params });
    expect(masked.status).toBe(200);
    expect(shown(masked.text)).toEqual([]);
    const { body } = masked.body as { body: { text: string; base64: string; masked: boolean } };
    expect(body.masked).toBe(true);
    expect(shown(Buffer.from(body.base64, "base64").toString())).toEqual([]);
    if (eventId === "json") expect(body.text).toBe('{"card":{"token":"••••••"},"n":1.50}');
    // Nor does anybody else, until there is a reason.
    const unasked = await ask(ADMIN, "GET api/v1/events/[id]/route.ts", { params });
    if (eventId === "json") expect(shown(unasked.text)).toEqual([]);
    const route = "POST api/v1/events/[id]/reveal/route.ts";
    const before = await entriesOf(params.id);
    expect((await ask(VIEWS, route, post({ reason: "curious" }, params))).status).toBe(403);
    expect((await ask(ADMIN, route, post({}, params))).status).toBe(400);
    expect(await entriesOf(params.id)).toEqual(before);
    const whole = await ask(ADMIN, route, post({ reason: "she asked" }, params));
    expect(shown(whole.text)).toEqual(credentials);
    expect(whole.body).toMatchObject({ event: { body: { masked: false } } });
    expect(whole.headers.get("cache-control")).toBe("no-store");
    const [entry, ...rest] = await entriesOf(params.id);
    expect(entry).toMatchObject({ action: "event.revealed", actor: ADMIN.name, reason: "she asked" });
    expect(rest).toEqual(before);
  });

  const entriesOf = (id: string) =>
    web.deps.db.query(
      `select action, actor, reason from audit_entries
        where subject_kind = 'event' and subject_id = $1 order by id desc`,
      [id],
    );

  test.each(["events", "events/export", "groups", "stats/top-errors"])("sees no credential in GET %s", async (path) => {
    const own: Record<string, string> = { "stats/top-errors": "from=-1h&", "events/export": "format=csv&" };
    const query = `?${own[path] ?? ""}errorCode=LOGIN`;
    const route = `GET api/v1/${path}/route.ts`;
    for (const viewer of [VIEWS, ADMIN]) {
      const masked = await ask(viewer, route, { query });
      expect(masked.status).toBe(200);
      expect(masked.text).toContain("LOGIN");
      expect(shown(masked.text)).toEqual([]);
    }
  });

  test("finds no word of a credential, and searches by no tag of one", async () => {
    for (const query of ["?tag.token=x", "?tag.who=ada%40example.com"]) {
      const [refused, found] = [
        await ask(VIEWS, "GET api/v1/events/route.ts", { query }),
        await ask(ADMIN, "GET api/v1/events/route.ts", { query }),
      ];
      expect(refused.body, query).toMatchObject({ code: "forbidden", errors: [{ detail: "reveal" }, {}] });
      expect(found.status).toBe(200);
    }
    const hidden = await ask(VIEWS, "GET api/v1/events/route.ts", { query: "?q=card+4111" });
    expect(hidden.body).toMatchObject({ items: [] });
  });

  test("has a search stored and shown as it was asked", async () => {
    const viewer: Viewer = { ...VIEWS, actions: ["view", "redrive", "remove"] };
    const select = { filter: { q: "login failed" } };
    const stored = async (table: string, id: string) => {
      const rows = await web.deps.db.query<{ selection: object }>(
        `select selection - 'asOfMs' as selection from ${table} where id = $1`,
        [id],
      );
      return rows[0]!.selection;
    };
    const verify = { select, mode: "verify" };
    const redrive = (await ask(viewer, "POST api/v1/redrives/route.ts", post(verify))).body as { id: string };
    expect(redrive).toMatchObject({ total: 3 });
    expect(await stored("redrives", redrive.id)).toEqual(select);
    const params = { id: redrive.id };
    expect((await ask(viewer, "GET api/v1/redrives/[id]/route.ts", { params })).body).toMatchObject({
      selection: select,
      reason: "Dry run of all that match q:login failed",
    });
    // A worker walks the selection: it keeps the groups until the end.
    const remove = { select, reason: "old" };
    const removal = (await ask(viewer, "POST api/v1/events/remove/route.ts", post(remove))).body as { id: string };
    const groups = { fingerprint: [expect.any(String)] };
    expect(await stored("bulk_operations", removal.id)).toEqual({ filter: groups, asked: select.filter });
    const one = { params: { id: removal.id } };
    const { body: operation } = await ask(viewer, "GET api/v1/operations/[id]/route.ts", one);
    expect(operation).toMatchObject({ selection: select });
    const entry = { params: {}, query: "?action=event.removed&limit=1" };
    const { body: audit } = await ask(ADMIN, "GET api/v1/audit/route.ts", entry);
    expect((audit as { items: object[] }).items).toMatchObject([{ after: select }]);
    const cancel = post({ action: "cancel" }, one.params);
    expect((await ask(ADMIN, "PATCH api/v1/operations/[id]/route.ts", cancel)).status).toBe(200);
    expect(await stored("bulk_operations", removal.id)).toEqual(select);
    await ask(ADMIN, "PATCH api/v1/redrives/[id]/route.ts", post({ action: "cancel" }, params));
  });

  test("gets no event whole: an export of lines holds what is stored", async () => {
    const route = "GET api/v1/events/export/route.ts";
    const lines = await ask(VIEWS, route, { query: "?errorCode=LOGIN&reason=no" });
    expect(lines.status).toBe(403);
    expect(lines.body).toMatchObject({ errors: [{ field: "action", detail: "reveal" }] });
    const unasked = await ask(ADMIN, route, { query: "?errorCode=LOGIN" });
    expect(unasked.body).toMatchObject({ code: "reason-required", status: 422 });
    const whole = await ask(ADMIN, route, { query: "?errorCode=LOGIN&reason=a+copy" });
    expect(shown(whole.text)).toEqual(credentials);
    const entries = await web.deps.db.query("select action, reason, count from audit_entries order by id desc limit 2");
    const count = whole.text.trimEnd().split("\n").length;
    expect(entries).toEqual([
      { action: "event.export-ended", reason: "a copy", count },
      { action: "event.exported", reason: "a copy", count: null },
    ]);
  });
});
