import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { type Column, tableText } from "@/lib/cli/table";
import type { AuditOut } from "@/lib/guard/audit/audit.shapes";
import type { ArchivedEvent } from "@/lib/keep/archive/archive.shapes";
import type { ControlOut } from "@/lib/order/controls/controls.shapes";
import { formatAgo, formatNumber } from "@/lib/platform/plain/format.pure";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";

const LIMIT = 50;
/** Of the API. */
export const PAGE_MAX = 500;

type Page<Item> = { items: Item[]; nextCursor: string | null; hints?: { field: string; detail: string }[] };

/** From --cursor on, as many pages as --limit asks for. */
export async function readPages<Item>({ line, api }: Call, path: string, filter: URLSearchParams): Promise<Page<Item>> {
  const limit = line.number("limit") ?? LIMIT;
  const items: Item[] = [];
  let cursor = line.text("cursor");
  let hints: Pick<Page<Item>, "hints"> = {};
  do {
    const query = new URLSearchParams(filter);
    query.set("limit", String(Math.min(PAGE_MAX, limit - items.length)));
    if (cursor !== null) query.set("cursor", cursor);
    const page = await api.get<Page<Item>>(path, query);
    items.push(...page.items);
    if (page.hints) hints = { hints: page.hints };
    cursor = page.nextCursor;
  } while (cursor !== null && items.length < limit);
  return { items, nextCursor: cursor, ...hints };
}

/** What to say on standard error when a list goes on; `ways` names the options that show more. */
export function moreText({ length }: readonly unknown[], ways: string): string {
  return `There are more than ${length === 1 ? "this one" : `these ${formatNumber(length)}`}: ${ways}.`;
}

/** The options of these names that were given, under the names of the API. */
export function givenOptions({ line }: Call, ...names: string[]): URLSearchParams {
  return new URLSearchParams(names.flatMap((name) => line.texts(name).map((value) => [name, value])));
}

export async function printList<Item>(call: Call, path: string, filter: URLSearchParams, columns: Column<Item>[]) {
  const { terminal } = call;
  const page = await readPages<Item>(call, path, filter);
  await printAnswer(call, page, () => tableText(page.items, columns, terminal.columns));
  if (page.items.length === 0) terminal.say("Nothing matches.");
  else if (page.nextCursor !== null) terminal.say(moreText(page.items, "--limit"));
  return EXIT.done;
}

export function listControls(call: Call): Promise<number> {
  const filter = new URLSearchParams({ state: call.line.text("state") ?? "live" });
  return printList<ControlOut>(call, "api/v1/controls", filter, [
    { title: "id", whole: true, of: ({ id }) => id },
    { title: "kind", of: ({ kind }) => kind },
    { title: "over", of: ({ scope }) => scopeText(scope) },
    { title: "catches", of: ({ catches }) => catches ?? "unknown" },
    { title: "by", of: ({ origin, createdBy }) => (origin === "automatic" ? "Parkade" : createdBy) },
    { title: "until", of: ({ expiresAt }) => expiresAt },
    { title: "reason", of: ({ reason }) => reason },
  ]);
}

/** `source=orders errorCode=TIMEOUT`: the options that `control blacklist` takes. */
export function scopeText(scope: ControlOut["scope"]): string {
  return Object.entries(scope)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

export function listArchive(call: Call): Promise<number> {
  const filter = givenOptions(call, "eventId", "aggregateId", "source", "errorCode", "operation", "from", "to");
  return printList<ArchivedEvent>(call, "api/v1/archive", filter, [
    { title: "id", whole: true, of: ({ id }) => id },
    { title: "was", of: ({ status }) => status },
    { title: "source", of: ({ source }) => source },
    { title: "event", of: ({ eventId }) => eventId },
    { title: "aggregate", of: ({ aggregateId }) => aggregateId },
    { title: "version", of: ({ version }) => version },
    { title: "error code", of: ({ errorCode }) => errorCode },
    { title: "first seen", of: ({ firstSeen }) => firstSeen },
    { title: "removed", of: ({ removedAt }) => removedAt },
    { title: "by", of: ({ removedBy }) => removedBy },
  ]);
}

export function listAudit(call: Call): Promise<number> {
  const names = ["action", "subjectKind", "subjectId", "eventId", "redriveId", "operationId", "from", "to"];
  const filter = givenOptions(call, ...names);
  const by = call.line.text("by");
  if (by !== null) filter.set("actor", by);
  return printList<AuditOut>(call, "api/v1/audit", filter, [
    { title: "at", whole: true, of: ({ at }) => at },
    { title: "by", of: ({ actor }) => actor },
    { title: "action", of: ({ action }) => action },
    { title: "count", of: ({ count }) => count ?? "not yet" },
    { title: "subject", of: ({ subjectId, operationId, redriveId }) => subjectId ?? operationId ?? redriveId },
    { title: "reason", of: ({ reason }) => reason },
  ]);
}

export function listRedrives(call: Call): Promise<number> {
  const { terminal, clock } = call;
  const age = (time: string) => (terminal.columns === null ? time : formatAgo(Date.parse(time), clock.wallMs()));
  return printList<RedriveOut>(call, "api/v1/redrives", givenOptions(call, "state", "waitsFor"), [
    { title: "id", whole: true, of: ({ id }) => id },
    { title: "state", of: ({ state }) => state },
    { title: "created", of: ({ createdAt }) => age(createdAt) },
    { title: "by", of: ({ createdBy }) => createdBy },
    { title: "events", of: ({ total }) => total },
    { title: "delivered", of: ({ delivered }) => delivered },
    { title: "failed", of: ({ failed }) => failed },
    { title: "refused", of: ({ refused }) => refused },
    { title: "open", of: ({ open }) => open },
    { title: "reason", of: ({ reason }) => reason },
    { title: "why it does not move", of: ({ stalled }) => stalled?.text ?? null },
  ]);
}
