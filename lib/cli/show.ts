import { type Call, printAnswer } from "@/lib/cli/call";
import { UsageError } from "@/lib/cli/command-line";
import { EXIT } from "@/lib/cli/command-table";
import { factsText, tableText } from "@/lib/cli/table";
import { ApiError } from "@/lib/contract/api-error";
import type { EventDetail, EventList } from "@/lib/contract/events";
import { formatBytes, visible } from "@/lib/core/format";
import { UUID } from "@/lib/core/uuid";

export async function show(call: Call): Promise<number> {
  const { line, api, terminal } = call;
  const event = await findEvent(call, line.arguments[0]!);
  if (line.flag("payload")) {
    const revision = line.text("revision");
    const query = revision === null ? undefined : new URLSearchParams({ revision });
    const { body } = await api.stream(`api/v1/events/${event.id}/payload`, query);
    if (body) await terminal.pipe(body);
    return EXIT.done;
  }
  await printAnswer(call, event, () => textOf(event, terminal.columns));
  return EXIT.done;
}

/** A producer's eventId may be a UUID, too: what is no id of an event is looked for as one. */
export async function findEvent(call: Call, id: string): Promise<EventDetail> {
  const { line, api } = call;
  const source = line.text("source");
  if (source === null && UUID.test(id)) {
    try {
      return await api.get<EventDetail>(`api/v1/events/${id}`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "unknown-event") throw error;
    }
  }
  const query = new URLSearchParams({ eventId: id, limit: "2", ...(source === null ? {} : { source }) });
  const { items } = await api.get<EventList>("api/v1/events", query);
  if (items.length === 0) throw new ApiError("unknown-event", `There is no event ${id}`, { status: 404 });
  if (items.length > 1) {
    throw new UsageError(`several sources have an event ${id}: name one with --source`, line.command);
  }
  return api.get<EventDetail>(`api/v1/events/${items[0]!.id}`);
}

function textOf(event: EventDetail, columns: number | null): string {
  const { errorDetail, body, headers, history, heldBy, control, group } = event;
  const facts = factsText([
    ["id", event.id],
    ["event", event.eventId],
    ["source", event.source],
    ["status", event.status],
    ["aggregate", event.aggregateId && [event.aggregateType, event.aggregateId].filter(Boolean).join(" ")],
    ["version", event.version],
    ["type", event.eventType],
    ["error code", event.errorCode],
    ["error", [errorDetail.type, errorDetail.message].filter(Boolean).join(": ") || null],
    ["tries", event.attempts || "none known"],
    ["bounces", event.bounces || null],
    ["revision", event.revision === 1 ? null : event.revision],
    ["first seen", event.firstSeen],
    ["cooling until", event.cooldownUntil],
    ["held by", heldBy?.text ?? null],
    ["control", control && `${control.kind} by ${control.createdBy}: ${control.reason}`],
    ["group", group && `${group.fingerprint} (${group.parked} parked)`],
    ["trace", event.traceId],
    [
      "tags",
      Object.entries(event.tags)
        .map(([key, value]) => `${key}=${value}`)
        .join(" ") || null,
    ],
  ]);
  const sections = [
    ["Stack", errorDetail.stack],
    ["Headers", factsText(headers.map(([name, value]) => [name, value ?? ""]))],
    [
      `Payload (${body.contentType}, ${formatBytes(body.bytes)}${body.masked ? ", secrets masked" : ""})`,
      body.text ?? "(no UTF-8 text: --payload writes the bytes)",
    ],
    [
      "History",
      tableText(
        history,
        [
          { title: "at", of: ({ at }) => at },
          { title: "what", of: ({ text }) => text },
          { title: "by", of: ({ actor }) => actor },
        ],
        columns,
      ),
    ],
  ] as const;
  return facts + sections.flatMap(([title, text]) => (text ? [`\n${title}\n${printable(text)}\n`] : [])).join("");
}

/** Lines of a producer's text: nothing in them moves the cursor. */
function printable(text: string): string {
  return visible(text.replaceAll("\r", "")).trimEnd();
}
