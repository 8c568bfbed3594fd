import { randomUUID } from "node:crypto";
import { type Signing, signingFault } from "@/lib/brokers/http/request-signature";
import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT, SIGNING_SECRET, UsageError } from "@/lib/cli/command";
import { factsText } from "@/lib/cli/table";
import type { ParkAnswer } from "@/lib/events/events.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { formatNumber, visible } from "@/lib/platform/plain/format.pure";

/** Of one request: as many as `parkade/park` sends, and far below what Parkade takes. */
const LINES_MAX = 200;
const CHARS_MAX = 1_000_000;
/** Refused lines that are said; the rest is counted. */
const SAID_MAX = 20;

type Counts = Omit<ParkAnswer, "rejected" | "revisions" | "unread">;
type Rejected = ParkAnswer["rejected"];

/** `park`: one JSON document, or a line for each event, from standard input. */
export async function park(call: Call): Promise<number> {
  const { line, api, terminal, signal } = call;
  const signing = signingOf(call);
  const source = line.text("source");
  const path = `api/v1/events${source === null ? "" : `?source=${encodeURIComponent(source)}`}`;
  const counts: Counts = {
    accepted: 0,
    duplicates: 0,
    changed: 0,
    bounced: 0,
    dropped: 0,
    unstored: 0,
    rejectedTotal: 0,
  };
  let sentLines = 0;
  let sent = false;
  let noSource = false;
  let unreadSaid = 0;
  try {
    for await (const { body, lines } of requestsOf(terminal.lines())) {
      signal.throwIfAborted();
      const change = { method: "POST", body, key: randomUUID(), signing } as const;
      const {
        rejected,
        revisions: _,
        unread = [],
        ...answer
      } = await api.change<ParkAnswer>(path, change).catch((error: unknown) => {
        const alone = lines.length === 1 ? refusalOf(error) : null;
        if (alone !== null) return alone;
        throw error;
      });
      const placeOf = (index: number) => (lines.length === 0 ? `event ${index + 1}` : `line ${lines[index]}`);
      for (const { index, code, detail } of rejected.slice(0, Math.max(0, SAID_MAX - counts.rejectedTotal))) {
        terminal.say(`${placeOf(index)}: ${visible(detail)} (${code})`);
        noSource ||= code === "unknown-source";
      }
      for (const { index, field, detail } of unread.slice(0, Math.max(0, SAID_MAX - unreadSaid))) {
        terminal.say(`${placeOf(index)} is parked without ${field}: ${visible(detail)}`);
      }
      unreadSaid += unread.length;
      for (const name of Object.keys(counts) as (keyof Counts)[]) counts[name] += answer[name];
      sentLines = lines.at(-1) ?? 0;
      sent = true;
    }
  } catch (error) {
    if (sentLines > 0)
      terminal.say(`The lines up to line ${sentLines} were sent. Parking them again stores nothing new.`);
    throw error;
  }
  signal.throwIfAborted();
  if (!sent) throw new UsageError("give events as JSON or NDJSON on standard input", line.command);
  if (noSource)
    terminal.say("`parkade source add` creates a source; --source names the source of events that name none.");
  await printAnswer(call, counts, () => countsText(counts));
  return counts.rejectedTotal === 0 ? EXIT.done : EXIT.partly;
}

/** A request of one event answers with a problem where a larger one lists the event as rejected. */
function refusalOf(error: unknown): ParkAnswer | null {
  if (!(error instanceof ApiError) || ![400, 404, 413, 422].includes(error.status)) return null;
  const rejected = [{ index: 0, code: error.code, detail: error.detail }] as Rejected;
  const counts = { accepted: 0, duplicates: 0, changed: 0, bounced: 0, dropped: 0, unstored: 0 };
  return { ...counts, revisions: [], rejected, rejectedTotal: 1 };
}

function countsText({ accepted, duplicates, changed, bounced, dropped, unstored, rejectedTotal }: Counts): string {
  return factsText([
    ["accepted", formatNumber(accepted)],
    ["duplicates", formatNumber(duplicates)],
    ["changed", changed === 0 ? null : formatNumber(changed)],
    ["bounced", bounced === 0 ? null : formatNumber(bounced)],
    ["dropped", dropped === 0 ? null : formatNumber(dropped)],
    ["counted, not stored", unstored === 0 ? null : formatNumber(unstored)],
    ["refused", rejectedTotal === 0 ? null : formatNumber(rejectedTotal)],
  ]);
}

const HMAC_OPTIONS = ["signature-header", "signature-prefix", "signature-encoding", "signature-timestamp"];

function signingOf({ line }: Call): Signing | undefined {
  const secret = process.env[SIGNING_SECRET];
  const scheme = line.text("signature") as Signing["scheme"] | null;
  const hmacOption = HMAC_OPTIONS.find((name) => line.text(name) !== null);
  if (scheme !== "hmac" && hmacOption !== undefined)
    throw new UsageError(`--${hmacOption} applies only to hmac: add --signature hmac`, line.command);
  if (!secret && scheme !== null)
    throw new UsageError(`set ${SIGNING_SECRET}: --signature needs the secret`, line.command);
  if (!secret) return undefined;
  const signing: Signing = {
    secret,
    scheme: scheme ?? undefined,
    header: line.text("signature-header") ?? undefined,
    prefix: line.text("signature-prefix") ?? undefined,
    encoding: (line.text("signature-encoding") as Signing["encoding"]) ?? undefined,
    timestampHeader: line.text("signature-timestamp") ?? undefined,
  };
  const fault = signingFault(signing);
  if (fault !== null) throw new UsageError(`${SIGNING_SECRET}: the ${fault}`, line.command);
  return signing;
}

/** Bodies of requests, and the lines that each holds: none = the input is one document. Events go as they were written. */
async function* requestsOf(input: AsyncIterable<string>): AsyncGenerator<{ body: string; lines: number[] }> {
  let events: string[] = [];
  let lines: number[] = [];
  let chars = 0;
  let number = 0;
  let document: string | null = null;
  const request = () => ({ body: `{"events":[${events.join(",")}]}`, lines });
  for await (const text of input) {
    number++;
    if (document !== null) document += `\n${text}`;
    else if (text.trim() === "") continue;
    else if (!isEvent(text)) {
      if (lines.length > 0)
        throw new UsageError(`line ${number} is not an event in JSON: correct it, and park the input again`);
      document = text;
    } else {
      if (events.length === LINES_MAX || (events.length > 0 && chars + text.length > CHARS_MAX)) {
        yield request();
        [events, lines, chars] = [[], [], 0];
      }
      events.push(text);
      lines.push(number);
      chars += text.length;
    }
  }
  if (document !== null) yield { body: document, lines: [] };
  else if (events.length > 0) yield request();
}

/** Whether a line is one event: a whole JSON object that is no list of events. */
function isEvent(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) && !("events" in value);
  } catch {
    return false;
  }
}
