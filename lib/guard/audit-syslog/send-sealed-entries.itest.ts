import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { afterEach, beforeEach, expect, test } from "vitest";
import { appendAudit, appendSubjects } from "@/lib/guard/audit/audit.write";
import { readHeads } from "@/lib/guard/audit-chain/heads.read";
import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { createSyslogSender } from "@/lib/guard/audit-syslog/send-sealed-entries";
import { parseSyslogAddress } from "@/lib/guard/audit-syslog/syslog-address.pure";
import { syslogServer } from "@/lib/guard/audit-syslog/syslog-server";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { readMetrics } from "@/lib/observe/metrics/metrics.read";
import { DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { createLog } from "@/lib/platform/log";
import { trustCertificates } from "@/lib/platform/trusted-certificates";
import { testCertificates } from "@/lib/testing/certificates";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";

let database: TestDatabase;
let db: Db;
let aheadMs: number;
const lines: string[] = [];
const ends: (() => unknown)[] = [];
/** Waits between tries are over when a test says so. */
const clock = { ...systemClock, nowMs: () => aheadMs };
const log = createLog({ process: "test", level: "info", destination: { write: (line) => void lines.push(line) } });

beforeEach(async () => {
  database = await testDatabase();
  db = createDb(database.url, { max: 4 });
  aheadMs = 0;
  lines.length = 0;
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await db.end();
  await database.drop();
});

const append = (subjectId: string, more: object = {}) =>
  db.transaction((tx) =>
    appendAudit(tx, {
      ...{ actor: "ada", action: "setting.changed", subjectKind: "setting" as const, subjectId, count: 1 },
      ...{ before: null, after: { on: true }, atMs: clock.wallMs(), ...more },
    }),
  );

async function sealed(...subjects: string[]): Promise<void> {
  for (const subject of subjects) await append(subject);
  await sealEntries(db);
}

function senderTo(url: string, more: { clock?: typeof clock } = {}) {
  const server = syslogServer(parseSyslogAddress(url)!, { clock, addresses: DEFAULT_ADDRESSES });
  return createSyslogSender({ db, clock, log, server, hostname: "parkade-1", ...more });
}

/** What RFC 6587 says of octet counting, and nothing else. */
function framesOf(bytes: Buffer): string[] {
  const frames: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [, length] = /^([1-9]\d*) /.exec(bytes.toString("latin1", at, at + 12))!;
    at += length!.length + 1;
    frames.push(bytes.toString("utf8", at, at + Number(length)));
    at += Number(length);
  }
  return frames;
}

type Listener = { url: string; frames: () => string[]; connections: () => number };

/** `onConnect` true = the server does not read. */
async function listen(
  scheme: "tcp" | "tls",
  make: (take: (socket: Socket) => void) => Server,
  { port = 0, onConnect = () => false }: { port?: number; onConnect?: (socket: Socket) => boolean } = {},
): Promise<Listener> {
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = make((socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => undefined);
    if (onConnect(socket)) return;
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("end", () => received.push(Buffer.concat(chunks)));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    return closed;
  });
  const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, frames: () => received.flatMap(framesOf), connections: () => connections };
}

const listenTcp = (options: Parameters<typeof listen>[2] = {}) => listen("tcp", (take) => createServer(take), options);

const HEADER =
  /^<109>1 (\S+) parkade-1 parkade - (\S+) \[parkade@32473 scope="(\w+)" seq="(\d+)" chainHash="([0-9a-f]{64})" kind="(\w+)" entryId="([0-9a-f-]{36})"( cut="true")?\] (.+)$/;

function parsed(frame: string) {
  const [, at, id, scope, seq, chainHash, kind, entryId, cut, json] = HEADER.exec(frame)!;
  return { at, id, place: `${scope} ${seq}`, chainHash, kind, entryId, cut, json: JSON.parse(json!) };
}

const subjects = (frames: string[]) => frames.map((frame) => parsed(frame).json.subjectId);

test("every seal is sent once, in the order of its chain, as RFC 5424 with the entry of the export", async () => {
  const id = await append("a");
  await append("b");
  const bulk = await append("e-1", {
    subjectKind: "event",
    action: "event.ignored",
    eventIds: [uuidv7(clock.wallMs())],
  });
  await db.transaction((tx) => appendSubjects(tx, bulk, [uuidv7(clock.wallMs())]));
  const server = await listenTcp();
  const send = senderTo(server.url);
  await send();
  expect(server.connections()).toBe(0);
  await sealEntries(db);
  await append("not sealed yet");
  await send();
  await send();
  const frames = server.frames().map(parsed);
  expect(frames.map(({ place, kind }) => `${place} ${kind}`)).toEqual([
    ...["configuration 1 entry", "configuration 2 entry", "messages 1 entry", "messages 2 subjects"],
  ]);
  const [first] = await db.query<{ at: string; hash: string }>(
    `select to_char(e.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, encode(s.chain_hash, 'hex') as hash
       from audit_entries e join audit_seals s on s.entry_id = e.id where e.id = $1`,
    [id],
  );
  expect(frames[0]).toEqual({
    ...{ at: first!.at, id: "setting.changed", place: "configuration 1", chainHash: first!.hash, kind: "entry" },
    ...{ entryId: id, cut: undefined },
    json: {
      ...{ id, at: first!.at, actor: "ada", action: "setting.changed", subjectKind: "setting", subjectId: "a" },
      ...{ redriveId: null, operationId: null, reason: null, before: null, after: { on: true }, count: 1 },
      seal: { scope: "configuration", seq: 1, chainHash: first!.hash },
    },
  });
});

test("another worker goes on where the last one stopped, and two at a time send nothing twice", async () => {
  const server = await listenTcp();
  await sealed("a", "b");
  await senderTo(server.url)();
  // Three batches.
  await db.run(
    `with entry as (
       insert into audit_entries (id, at, actor, action, subject_kind, subject_id)
       select uuidv7(), now(), 'ada', 'setting.changed', 'setting', 'n-' || n from generate_series(0, 1202) n returning id
     ) insert into audit_pending (entry_id, ref) select id, id from entry`,
  );
  await sealEntries(db);
  const [one, other] = [senderTo(server.url), senderTo(server.url)];
  await Promise.all([one(), other()]);
  await one();
  const expected = ["a", "b", ...Array.from({ length: 1_203 }, (_, index) => `n-${index}`)];
  expect(subjects(server.frames())).toEqual(expected);
});

test("a server that is away blocks no seal, is asked after waits that double, and then gets everything in order", async () => {
  const away = await listenTcp();
  const port = Number(new URL(away.url).port);
  await ends.pop()!();
  const send = senderTo(away.url);
  await sealed("a");
  await expect(send()).rejects.toMatchObject({
    ...{ message: `the audit could not be sent to ${away.url}`, cause: { code: "ECONNREFUSED" } },
  });
  await sealed("b", "c");
  expect(await readHeads(db)).toMatchObject([{ scope: "configuration", seq: 3 }]);
  const resets = await listenTcp({ port, onConnect: (socket) => Boolean(socket.resetAndDestroy()) });
  await expect(send()).rejects.toThrow("could not be sent");
  expect(resets.connections()).toBe(0);
  aheadMs = 1_001;
  await expect(send()).rejects.toThrow("could not be sent");
  aheadMs = 2_500;
  await expect(send()).rejects.toThrow("could not be sent");
  expect(resets.connections()).toBe(1);
  aheadMs = 3_500;
  await expect(send()).rejects.toThrow("could not be sent");
  expect(resets.connections()).toBe(2);
  await ends.pop()!();
  const back = await listenTcp({ port });
  aheadMs = 8_000;
  await send();
  expect(subjects(back.frames())).toEqual(["a", "b", "c"]);
  await sealed("d");
  await send();
  expect(subjects(back.frames())).toEqual(["a", "b", "c", "d"]);
});

test("what a server took and died with before it had read it is sent again", async () => {
  let dies = true;
  // It reads nothing: the bytes lie in its buffer when it dies.
  const server = await listenTcp({
    onConnect: (socket) => {
      if (!dies) return false;
      socket.pause();
      systemClock.timer(100, () => socket.resetAndDestroy());
      return true;
    },
  });
  await sealed("a", "b");
  const send = senderTo(server.url);
  await expect(send()).rejects.toThrow("could not be sent");
  expect(await db.query("select from audit_syslog_positions where seq > 0")).toEqual([]);
  dies = false;
  aheadMs = 1_001;
  await send();
  expect(subjects(server.frames())).toEqual(["a", "b"]);
});

test.each([
  ["closes at once", (socket: Socket) => void socket.destroy()],
  ["ends its part and reads nothing", (socket: Socket) => void socket.pause().end()],
  ["closes after the beginning of a message", (socket: Socket) => void socket.once("data", () => socket.destroy())],
])("a server that %s gets everything again", async (_, ends) => {
  let closes = true;
  const server = await listenTcp({
    onConnect: (socket) => {
      if (closes) ends(socket);
      return closes;
    },
  });
  // A short batch lies in buffers as a whole; a long one does not.
  await sealed("a", "b");
  const send = senderTo(server.url);
  await expect(send()).rejects.toThrow("could not be sent");
  for (let i = 0; i < 4; i++) await append(`long-${i}`, { before: "b".repeat(250_000) });
  await sealEntries(db);
  await expect(senderTo(server.url)()).rejects.toThrow("could not be sent");
  expect(await db.query("select from audit_syslog_positions where seq > 0")).toEqual([]);
  closes = false;
  aheadMs = 1_001;
  await send();
  expect(subjects(server.frames())).toEqual(["a", "b", "long-0", "long-1", "long-2", "long-3"]);
});

test("a server that takes connections and never reads is given up after three seconds, holds no seal back, and shows", async () => {
  let reads = false;
  const server = await listenTcp({
    onConnect: (socket) => {
      if (!reads) socket.pause();
      return !reads;
    },
  });
  const subjectIds = Array.from({ length: 40 }, (_, index) => `n-${index}`);
  for (const id of subjectIds) await append(id, { before: "b".repeat(60_000) });
  await sealEntries(db);
  const giveUp: (() => void)[] = [];
  const timer: typeof clock.timer = (ms, fire) => {
    if (ms !== 3_000) return systemClock.timer(ms, fire);
    giveUp.push(fire);
    return () => undefined;
  };
  const inner = syslogServer(parseSyslogAddress(server.url)!, {
    clock: { ...clock, timer },
    addresses: DEFAULT_ADDRESSES,
  });
  const bytes: number[] = [];
  const counting: typeof inner = {
    ...inner,
    send: (messages, signal) => {
      bytes.push(messages.join("").length);
      return inner.send(messages, signal);
    },
  };
  const send = createSyslogSender({ db, clock, log, server: counting, hostname: "parkade-1" });
  for (let tries = 1; tries <= 6; tries++) {
    const round = send();
    round.catch(() => undefined);
    await expect.poll(server.connections).toBe(tries);
    const later = `later-${tries}`;
    subjectIds.push(later);
    await append(later);
    await sealEntries(db);
    expect(await readHeads(db)).toMatchObject([{ seq: subjectIds.length }]);
    giveUp.at(-1)!();
    await expect(round).rejects.toMatchObject({ cause: { name: "TimeoutError" } });
    aheadMs += 60_001;
  }
  // Each try holds one batch, and a smaller one than the try before.
  expect(bytes[0]).toBeLessThanOrEqual(inner.bytesMax);
  expect(bytes.at(-1)).toBeLessThan(70_000);
  await db.run("update audit_seals set sealed_at = sealed_at - interval '20 minutes'");
  const unsent = async () => {
    const metrics = await readMetrics(db, localViewer("ada"), clock.wallMs());
    return metrics.find(({ name }) => name === "parkade_audit_unsent_oldest_seconds")!.samples[0]!.value;
  };
  expect(await unsent()).toBeGreaterThanOrEqual(1_200);
  reads = true;
  await senderTo(server.url)();
  expect(subjects(server.frames())).toEqual(subjectIds);
  expect(await unsent()).toBeNull();
});

test("TLS is spoken with a server that the process's authorities vouch for, by its name, and with no other", async () => {
  const certificates = testCertificates();
  ends.push(() => certificates.remove());
  const listenTls = (files: { cert: string; key: string }) =>
    listen("tls", (take) => createTlsServer({ cert: files.cert, key: files.key }, take).on("tlsClientError", () => {}));
  const right = await listenTls(certificates.server);
  const wrong = await listenTls(certificates.wrongName);
  await sealed("a", "b");
  await expect(senderTo(right.url)()).rejects.toMatchObject({ cause: { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" } });
  trustCertificates(certificates.caFile);
  await expect(senderTo(wrong.url)()).rejects.toMatchObject({ cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" } });
  expect([right.frames(), wrong.frames()]).toEqual([[], []]);
  await senderTo(right.url)();
  expect(subjects(right.frames())).toEqual(["a", "b"]);
  await sealed("c");
  await senderTo(right.url.replace("127.0.0.1", "localhost"))();
  expect(subjects(right.frames())).toEqual(["a", "b", "c"]);
  const plain = await listenTcp({ onConnect: (socket) => Boolean(socket.end("hello\n")) });
  await sealed("d");
  await expect(senderTo(plain.url.replace("tcp:", "tls:"))()).rejects.toThrow("could not be sent");
});

test("a datagram holds one message, of which a long one is cut to 8 KiB with a mark; a stream takes it whole", async () => {
  const socket = createSocket("udp4");
  const datagrams: string[] = [];
  socket.on("message", (bytes) => void datagrams.push(bytes.toString()));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  ends.push(() => void socket.close());
  const long = { before: "b".repeat(20_000), reason: "ü".repeat(4_000), subjectId: "x".repeat(3_000) };
  await append("short");
  await append("long", { ...long, after: { list: Array.from({ length: 500 }, () => "é") } });
  await sealEntries(db);
  await senderTo(`udp://127.0.0.1:${socket.address().port}`)();
  await expect.poll(() => datagrams.length).toBe(2);
  const [short, cut] = datagrams.map(parsed);
  expect(short).toMatchObject({ cut: undefined, json: { subjectId: "short" } });
  expect(datagrams[1]!.length).toBeLessThanOrEqual(8_192);
  expect(cut).toMatchObject({ place: "configuration 2", cut: ' cut="true"' });
  expect(cut!.json).toMatchObject({
    ...{ cut: true, before: null, after: null, actor: "ada", reason: "ü".repeat(200), subjectId: "x".repeat(200) },
    seal: { seq: 2, chainHash: cut!.chainHash },
  });
  await db.run("truncate audit_syslog_positions");
  const stream = await listenTcp();
  await senderTo(stream.url)();
  expect(parsed(stream.frames()[1]!).json).toMatchObject(long);
});

test("datagrams to a port at which nobody listens fail, as far as the machine says so", async () => {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(() => resolve()));
  await sealed("a", "b", "c", "d");
  await expect(senderTo(`udp://127.0.0.1:${port}`)()).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  expect(await db.query("select from audit_syslog_positions where seq > 0")).toEqual([]);
});

test("what an entry says begins no other message, ends no field, and holds no control character", async () => {
  const nasty = '\n13 <0>1 - - - - - -\r\n"]\\ \u0085\u2028\u202e\u007f\u009b31m\u001b[31m\ud800 ü 漢 💥';
  const stored = nasty.replace("\ud800", "\ufffd");
  await append(nasty, { actor: nasty, reason: nasty, action: `x.${nasty}`, after: { [stored]: stored } });
  await append("next");
  await sealEntries(db);
  const server = await listenTcp();
  await senderTo(server.url)();
  const frames = server.frames();
  expect(frames).toHaveLength(2);
  expect(frames.join("")).toMatch(/^[ -~]+$/);
  const { id, json } = parsed(frames[0]!);
  expect(id).toMatch(/^[!-~]{1,32}$/);
  expect(json).toMatchObject({ actor: stored, reason: stored, subjectId: stored, after: { [stored]: stored } });
  expect(parsed(frames[1]!).json.subjectId).toBe("next");
});

test("a recipe's secret is masked, a deleted entry says so, and a chain that is another one is sent anew", async () => {
  const recipe = [{ op: "replace", path: "/password", value: "hunter-canary" }];
  await append("mend", { subjectKind: "recipe", after: { recipe } });
  const gone = await append("gone");
  await sealEntries(db);
  await db.run("delete from audit_entries where id = $1", [gone]);
  const server = await listenTcp();
  const send = senderTo(server.url);
  await send();
  expect(server.frames().join("")).not.toContain("hunter-canary");
  expect(parsed(server.frames()[0]!).json.after).toEqual({ recipe: [{ ...recipe[0], value: REDACTED }] });
  expect(server.frames()[1]).toMatch(
    new RegExp(`^<108>1 20\\S+ parkade-1 parkade - deleted \\[.+\\] \\{"id":"${gone}","deleted":true,"seal":`),
  );
  expect(lines).toEqual([]);
  await db.run("update audit_seals set chain_hash = sha256('x') where seq = 2");
  await send();
  expect(server.frames()).toHaveLength(4);
  expect(lines.join("")).toContain("the audit is not the one that was sent: it is sent anew");
  await send();
  expect(server.frames()).toHaveLength(4);
});

test("an address that is refused is not sent to", async () => {
  await sealed("a");
  for (const scheme of ["udp", "tcp", "tls"]) {
    await expect(senderTo(`${scheme}://169.254.169.254:514`)()).rejects.toMatchObject({
      cause: { code: "ADDRESS_REFUSED" },
    });
  }
});
