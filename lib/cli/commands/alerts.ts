import { type Call, given, printAnswer, requestKey } from "@/lib/cli/call";
import { type Command, EXIT, idempotencyKeyOption, pagingOptions, requiredReasonOption } from "@/lib/cli/command";
import { list, printTable } from "@/lib/cli/lists";
import type { AlertOut } from "@/lib/observe/alerts/alerts.shapes";
import { alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import type { AlertRuleOut } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import type { ChannelOut, DeliveryList } from "@/lib/observe/channels/channels.shapes";
import type { MaintenanceOut } from "@/lib/observe/maintenance/maintenances.shapes";
import type { MarkerOut } from "@/lib/observe/markers/markers.shapes";
import { plural, visible } from "@/lib/platform/plain/format.pure";

async function acknowledgeAlerts(call: Call): Promise<number> {
  const { line, api } = call;
  const body = { ids: line.arguments, acknowledged: !line.flag("undo"), ...given(call, "note") };
  const answer = await api.change<{ changed: number; unchanged: number }>("api/v1/alerts/acknowledge", {
    method: "POST",
    body,
  });
  const rest = answer.unchanged === 0 ? "" : `, ${answer.unchanged} unchanged`;
  return printAnswer(call, answer, () => `${plural(answer.changed, "alert")} changed${rest}\n`);
}

const TEST_MS_MAX = 30_000;
const LOOK_MS = 500;

async function testChannel(call: Call): Promise<number> {
  const { line, api, clock, signal } = call;
  const path = `api/v1/channels/${encodeURIComponent(line.arguments[0]!)}`;
  const { id } = await api.change<{ id: string }>(`${path}/test`, {
    method: "POST",
    body: {},
    key: requestKey(call),
  });
  const untilMs = clock.nowMs() + TEST_MS_MAX;
  for (;;) {
    const { items } = await api.get<DeliveryList>(`${path}/deliveries?limit=50`);
    const sent = items.find((delivery) => delivery.id === id);
    const over = sent?.state === "sent" || sent?.state === "failed" || clock.nowMs() >= untilMs;
    if (over) {
      const words = sent?.state === "sent" ? "taken" : `not taken${sent?.lastError ? `: ${sent.lastError}` : ""}`;
      await printAnswer(call, sent ?? { id }, () => visible(`${words}\n`));
      return sent?.state === "sent" ? EXIT.done : EXIT.refused;
    }
    await clock.sleep(LOOK_MS, signal);
  }
}

async function addMarker(call: Call): Promise<number> {
  const { line, api } = call;
  const { link: url, ...named } = given(call, "kind", "source", "link", "at");
  const key = requestKey(call);
  const added = await api.change<MarkerOut>("api/v1/markers", {
    method: "POST",
    body: { label: line.arguments[0]!, url, ...named },
    key,
  });
  return printAnswer(call, added, () => `${added.id}\n`);
}

async function beginMaintenance(call: Call): Promise<number> {
  const { line, api, clock } = call;
  const sources = line.texts("source");
  const until = new Date(clock.wallMs() + Number(line.text("minutes")) * 60_000).toISOString();
  const body = { sources: sources.length === 0 ? null : sources, until, reason: line.text("reason") };
  const key = requestKey(call);
  const begun = await api.change<MaintenanceOut>("api/v1/maintenances", { method: "POST", body, key });
  return printAnswer(call, begun, () => `${begun.id}\n`);
}

async function endMaintenance(call: Call): Promise<number> {
  const path = `api/v1/maintenances/${encodeURIComponent(call.line.arguments[0]!)}`;
  await call.api.change(path, { method: "DELETE", body: {} });
  return printAnswer(call, {}, () => "ended: firing alerts are sent\n");
}

export const ALERT_COMMANDS: readonly Command[] = [
  {
    name: "alert list",
    summary: "List alerts, newest first",
    options: [
      { name: "state", value: "state", values: ["firing", "resolved", "pending"], text: "Default: firing" },
      { name: "source", value: "name", names: "sources", text: "Only of this source" },
      ...pagingOptions,
    ],
    details: "Shows each alert in one sentence, with its start and who has acknowledged it.",
    examples: ["parkade alert list", "parkade alert list --state resolved --source orders"],
    run: list<AlertOut>(
      "api/v1/alerts",
      ["id", "severity", "since", ["acknowledged", "acknowledgedBy"], ["what", "sentence"]],
      { state: "firing" },
    ),
  },
  {
    name: "alert acknowledge",
    summary: "Acknowledge alerts, so that their messages are not repeated",
    arguments: [{ name: "id", many: true }],
    options: [
      { name: "note", value: "text", text: "A note for your colleagues" },
      { name: "undo", text: "Take the acknowledgement back" },
    ],
    details: "The ids are those that `alert list` shows. An alert stays open until its cause has ended.",
    examples: ['parkade alert acknowledge 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b30 --note "looking at the stock service"'],
    run: acknowledgeAlerts,
  },
  {
    name: "alert rules",
    summary: "List the rules of alerts",
    options: [...pagingOptions],
    details: "Shows the condition of each, how many of its alerts are firing, and why it cannot be evaluated, if so.",
    examples: ["parkade alert rules"],
    run: list<AlertRuleOut>("api/v1/alert-rules", [
      "id",
      "name",
      "severity",
      ["on", ({ enabled }) => (enabled ? "on" : "off")],
      "firing",
      ["watches", ({ watch }) => alertKindOf(watch.kind).words],
      ["not judged", "fault"],
    ]),
  },
  {
    name: "channel list",
    summary: "List the channels to which alerts are sent",
    options: [],
    details: "Shows how many messages wait, when the last one was sent, and the last error.",
    examples: ["parkade channel list"],
    run: async (call) => {
      const answer = await call.api.get<{ items: ChannelOut[] }>("api/v1/channels");
      await printTable(call, answer, [
        "name",
        ["kind", ({ config }) => config.kind],
        ["on", ({ enabled }) => (enabled ? "on" : "off")],
        "waiting",
        ["last sent", "lastSentAt"],
        ["last error", "lastError"],
      ]);
      if (answer.items.length === 0) call.terminal.say("No channels: alerts are shown in the console only.");
      return EXIT.done;
    },
  },
  {
    name: "channel test",
    summary: "Send a test message, and wait for it",
    arguments: [{ name: "name" }],
    options: [],
    details:
      "It takes the same path as every other message: through the store and a worker. Exits with 1 if the receiver does not accept it within 30 s.",
    examples: ["parkade channel test ops"],
    run: testChannel,
  },
  {
    name: "mark",
    summary: "Mark a moment on the charts: a deployment, an incident, a note",
    arguments: [{ name: "label" }],
    options: [
      { name: "kind", value: "kind", values: ["deploy", "incident", "note"], text: "Default: deploy" },
      { name: "source", value: "name", names: "sources", text: "Only of this source; default: all sources" },
      { name: "link", value: "url", text: "Where to read more" },
      { name: "at", value: "time", text: "ISO 8601 with an offset; default: now" },
      idempotencyKeyOption,
    ],
    details: "For CI systems: run it when a deployment has ended.",
    examples: ['parkade mark "orders 4.17.0" --source orders --link https://ci.example.com/builds/4170'],
    run: addMarker,
  },
  {
    name: "maintenance list",
    summary: "List the maintenance windows",
    options: [
      {
        name: "state",
        value: "state",
        values: ["live", "ended"],
        text: "Active and upcoming, or ended; default: live",
      },
      ...pagingOptions,
    ],
    details: "During one, alerts still fire and are shown in the console, but no messages are sent.",
    examples: ["parkade maintenance list"],
    run: list<MaintenanceOut>(
      "api/v1/maintenances",
      [
        "id",
        ["of", ({ sources }) => sources?.join(", ") ?? "every source"],
        "from",
        ["until", ({ until, endedAt }) => endedAt ?? until],
        ["by", "createdBy"],
        "reason",
      ],
      { state: "live" },
    ),
  },
  {
    name: "maintenance begin",
    summary: "Start a maintenance window: no alerts are sent",
    options: [
      { name: "minutes", value: "n", number: "whole", required: true, text: "How long, a week at most" },
      { name: "source", value: "name", names: "sources", many: true, text: "Only of this source; may be repeated" },
      requiredReasonOption,
      idempotencyKeyOption,
    ],
    details: "Alerts that are still firing when it ends are sent then.",
    examples: ['parkade maintenance begin --minutes 60 --source orders --reason "the stock service moves"'],
    run: beginMaintenance,
  },
  {
    name: "maintenance end",
    summary: "End a maintenance window early",
    arguments: [{ name: "id" }],
    options: [],
    details: "The id is the one that `maintenance list` shows. Alerts that are firing are then sent.",
    examples: ["parkade maintenance end 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b30"],
    run: endMaintenance,
  },
];
