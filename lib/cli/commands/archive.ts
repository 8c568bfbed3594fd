import { type Call, countText, given, printAnswer, requestKey, selectOf } from "@/lib/cli/call";
import {
  allOption,
  type Command,
  detachOption,
  EXIT,
  idempotencyKeyOption,
  idsArgument,
  pagingOptions,
  requiredReasonOption,
  SELECTION,
  UsageError,
  yesOption,
} from "@/lib/cli/command";
import { confirmed } from "@/lib/cli/confirm";
import { followOperation } from "@/lib/cli/follow";
import { list } from "@/lib/cli/lists";
import { factsText } from "@/lib/cli/table";
import type { BulkAnswer } from "@/lib/events/events.shapes";
import { RESTORED_MAX } from "@/lib/keep/archive/archive.pure";
import type { ArchivedEvent, ArchivedList, RestoreAnswer, VerifyAnswer } from "@/lib/keep/archive/archive.shapes";
import type { RemovalPreview } from "@/lib/keep/removal/removal.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { formatBytes, formatNumber, visible } from "@/lib/platform/plain/format.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";
import { pinSelection } from "@/lib/selection/pin-selection.shapes";

const removedBy = { name: "operation", value: "id" } as const;

const ARCHIVE = "api/v1/archive";
/** Refused events that are named; the rest is counted. */
const NAMED_MAX = 20;

/** `remove`: the number that a person confirms is that of the events that would go. */
async function removeEvents(call: Call): Promise<number> {
  const { line, api } = call;
  let select = await selectOf(call);
  if (line.flag("preview") || !line.flag("yes")) {
    const preview = await api.change<RemovalPreview>("api/v1/events/remove/preview", {
      method: "POST",
      body: { select },
    });
    if (line.flag("preview")) {
      await printAnswer(call, preview, () => previewText(preview));
      return preview.place === null || preview.removable === 0 ? EXIT.refused : EXIT.done;
    }
    // Without an archive nobody is asked: the request below is refused, with what to set.
    const asks = preview.place !== null && preview.removable !== 0;
    if (asks && !(await confirmed(call, "Remove", preview.removable))) return EXIT.refused;
    select = pinSelection(select, preview.cutoff);
  }
  const body = { select, reason: line.text("reason") };
  const key = requestKey(call);
  const answer = await api.change<BulkAnswer>("api/v1/events/remove", { method: "POST", body, key });
  call.terminal.say(`Bulk operation ${answer.id}: a worker removes the events.`);
  if (!line.flag("detach")) return followOperation(call, answer.id!);
  return printAnswer(call, answer, () => `${answer.id}\n`);
}

function previewText({ removable, kept, keptByReason, byStatus, bytes, place }: RemovalPreview): string {
  return factsText([
    ["would go", removable === null ? "unknown" : formatNumber(removable)],
    ["would stay", kept === null ? "unknown" : countText(kept, keptByReason)],
    ["in all", removable === null || kept === null ? null : countText(removable + kept, byStatus)],
    ["payloads", bytes === null ? null : formatBytes(bytes)],
    ["archive", place ?? "none is configured: set PARKADE_ARCHIVE"],
  ]);
}

async function restoreArchived(call: Call): Promise<number> {
  const { line } = call;
  const [operation, day] = [line.text("operation"), line.text("day")];
  if ([operation, day, line.arguments[0] ?? null].filter((name) => name !== null).length !== 1) {
    throw new UsageError(
      "name the events by their ids, or a removal with --operation, or a day with --day",
      line.command,
    );
  }
  const scope = operation === null ? { day, ...given(call, "source") } : { operation };
  const answer = line.arguments.length > 0 ? await restoreIds(call) : await restoreScope(call, scope);
  await printAnswer(call, answer, () =>
    factsText([
      ["restored", formatNumber(answer.restored)],
      ["stored already", answer.duplicates === 0 ? null : formatNumber(answer.duplicates)],
      ["refused", answer.refused.length === 0 ? null : formatNumber(answer.refused.length)],
    ]),
  );
  sayRefused(call, answer);
  return answer.refused.length === 0 ? EXIT.done : EXIT.partly;
}

async function restoreIds(call: Call): Promise<RestoreAnswer> {
  const ids: string[] = [];
  for (const word of call.line.arguments) ids.push(UUID.test(word) ? word : await archivedId(call, word));
  const sum = nothing();
  for (let at = 0; at < ids.length; at += RESTORED_MAX) {
    addTo(sum, await restore(call, { ids: ids.slice(at, at + RESTORED_MAX) }));
  }
  return sum;
}

async function restoreScope(call: Call, scope: object): Promise<RestoreAnswer> {
  const sum = nothing();
  for (let after: string | null = null; ; ) {
    const answer = await restore(call, after === null ? scope : { ...scope, after });
    addTo(sum, answer);
    if (answer.next === null) return sum;
    call.terminal.progress(`${formatNumber(sum.restored)} restored`);
    after = answer.next;
  }
}

const nothing = (): RestoreAnswer => ({ restored: 0, duplicates: 0, refused: [], next: null });

function restore({ api }: Call, body: object): Promise<RestoreAnswer> {
  return api.change<RestoreAnswer>(`${ARCHIVE}/restore`, { method: "POST", body });
}

function addTo(sum: RestoreAnswer, { restored, duplicates, refused }: RestoreAnswer): void {
  sum.restored += restored;
  sum.duplicates += duplicates;
  sum.refused.push(...refused);
}

async function archivedId({ line, api }: Call, eventId: string): Promise<string> {
  const query = new URLSearchParams({ eventId, limit: "2", ...given({ line }, "source") });
  const { items } = await api.get<ArchivedList>(ARCHIVE, query);
  if (items.length === 0) {
    throw new ApiError("unknown-event", `No event ${eventId} is in the archive`, { status: 404 });
  }
  if (new Set(items.map((item) => item.source)).size > 1) {
    throw new UsageError(`several sources have an event ${eventId}: name one with --source`, line.command);
  }
  if (items.length > 1) {
    throw new UsageError(
      `the archive has several events ${eventId}: name one by its id, from \`archive list\``,
      line.command,
    );
  }
  return items[0]!.id;
}

async function verifyArchive(call: Call): Promise<number> {
  const { line, api, terminal } = call;
  const named = ["operation", "day", "source"].flatMap((name) => {
    const value = line.text(name);
    return value === null ? [] : [[name, value]];
  });
  const sum: VerifyAnswer = { sets: 0, events: 0, faults: [], next: null };
  for (let body: object = Object.fromEntries(named); ; ) {
    const answer = await api.change<VerifyAnswer>(`${ARCHIVE}/verify`, { method: "POST", body });
    sum.sets += answer.sets;
    sum.events += answer.events;
    sum.faults.push(...answer.faults);
    if (answer.next === null) break;
    terminal.progress(`${formatNumber(sum.sets)} sets read`);
    body = { ...body, after: answer.next };
  }
  await printAnswer(call, sum, () =>
    factsText([
      ["sets", formatNumber(sum.sets)],
      ["events", formatNumber(sum.events)],
      ["faults", formatNumber(sum.faults.length)],
    ]),
  );
  for (const { detail } of sum.faults) terminal.say(visible(detail));
  return sum.faults.length === 0 ? EXIT.done : EXIT.partly;
}

function sayRefused({ terminal }: Call, { refused }: RestoreAnswer): void {
  for (const { id, detail } of refused.slice(0, NAMED_MAX)) terminal.say(visible(`${id}: ${detail}`));
  if (refused.length > NAMED_MAX) terminal.say(`and ${formatNumber(refused.length - NAMED_MAX)} more`);
}

export const ARCHIVE_COMMANDS: readonly Command[] = [
  {
    name: "remove",
    summary: "Move settled events from the store into the archive",
    arguments: [idsArgument],
    filter: true,
    options: [
      requiredReasonOption,
      { name: "preview", text: "Only say what would be removed, what would stay, and where the archive lies" },
      allOption,
      yesOption,
      detachOption,
      idempotencyKeyOption,
    ],
    details: `${SELECTION} Those that are IGNORED or CONFIRMED are written to the archive, read back, and then leave the store; the others stay and are counted by reason. A worker does it, which the command follows. \`archive restore\` brings them back as they were.`,
    examples: [
      "parkade remove --status IGNORED --to 2026-11-01T00:00:00Z --preview",
      'parkade remove --status IGNORED --to 2026-11-01T00:00:00Z --reason "the disk fills up"',
    ],
    run: removeEvents,
  },
  {
    name: "archive list",
    summary: "List archived events, newest first",
    options: [
      { name: "eventId", value: "id", text: "The producer's id of the event" },
      { name: "aggregateId", value: "id", text: "Id of the aggregate" },
      { name: "source", value: "name", names: "sources", text: "Name of the source" },
      { name: "errorCode", value: "code", text: "Error code, such as TIMEOUT" },
      { ...removedBy, text: "Only what this removal has archived" },
      { name: "from", value: "time", text: "First parked at or after: ISO 8601, epoch milliseconds, or like -24h" },
      { name: "to", value: "time", text: "First parked before, in the same forms" },
      ...pagingOptions,
    ],
    details: "All options that are given must match. --json has also the object of the archive that holds each event.",
    examples: [
      "parkade archive list --aggregateId order-77",
      "parkade archive list --source orders --errorCode TIMEOUT",
    ],
    run: list<ArchivedEvent>("api/v1/archive", [
      "id",
      ["was", "status"],
      "source",
      ["event", "eventId"],
      ["aggregate", "aggregateId"],
      "version",
      ["error code", "errorCode"],
      ["first seen", "firstSeen"],
      ["removed", "removedAt"],
      ["by", "removedBy"],
    ]),
  },
  {
    name: "archive restore",
    summary: "Put archived events back into the store, as they were",
    arguments: [idsArgument],
    options: [
      { ...removedBy, text: "All that this removal has archived, instead of ids" },
      { name: "day", value: "day", text: "All that was parked on this UTC day, instead of ids" },
      {
        name: "source",
        value: "name",
        names: "sources",
        text: "With --day: only its events. With ids: the source, if several have an event with this id",
      },
    ],
    details:
      "An id is the one that `archive list` shows, or the producer's eventId. Events come back under their ids, with status, revisions and bounces; nothing is sent. An event that came in again meanwhile is stored already and is not restored. Exit code 4: some stay in the archive; standard error says why.",
    examples: [
      "parkade archive restore order-77-v3",
      "parkade archive restore --operation 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60",
      "parkade archive restore --day 2026-11-25 --source orders",
    ],
    run: restoreArchived,
  },
  {
    name: "archive verify",
    summary: "Compare the objects of the archive with what was written",
    options: [
      { ...removedBy, text: "Only what this removal has archived" },
      { name: "day", value: "day", text: "Events that were parked on this UTC day" },
      { name: "source", value: "name", names: "sources", text: "Events of this source" },
    ],
    details:
      "Reads every object that the options name, all without any, and changes nothing. Exit code 4: some are missing or were changed; standard error names them.",
    examples: ["parkade archive verify", "parkade archive verify --day 2026-11-25"],
    run: verifyArchive,
  },
];
