import { randomUUID } from "node:crypto";
import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { printList } from "@/lib/cli/lists";
import { type Column, tableText } from "@/lib/cli/table";
import { KIND_WORDS } from "@/lib/observe/alerts/alert-words.pure";
import type { AlertOut } from "@/lib/observe/alerts/alerts.shapes";
import type { AlertRuleOut } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import type { ChannelOut, DeliveryList } from "@/lib/observe/channels/channels.shapes";
import type { MaintenanceOut } from "@/lib/observe/maintenance/maintenances.shapes";
import type { MarkerOut } from "@/lib/observe/markers/markers.shapes";
import { plural, visible } from "@/lib/platform/plain/format.pure";

export function listAlerts(call: Call): Promise<number> {
  const { line } = call;
  const filter = new URLSearchParams({ state: line.text("state") ?? "firing" });
  const source = line.text("source");
  if (source !== null) filter.set("source", source);
  return printList<AlertOut>(call, "api/v1/alerts", filter, [
    { title: "id", whole: true, of: ({ id }) => id },
    { title: "severity", of: ({ severity }) => severity },
    { title: "since", of: ({ since }) => since },
    { title: "acknowledged", of: ({ acknowledgedBy }) => acknowledgedBy },
    { title: "what", of: ({ sentence }) => sentence },
  ]);
}

export async function acknowledgeAlerts(call: Call): Promise<number> {
  const { line, api } = call;
  const note = line.text("note");
  const body = { ids: line.arguments, acknowledged: !line.flag("undo"), ...(note === null ? {} : { note }) };
  const answer = await api.change<{ changed: number; unchanged: number }>("api/v1/alerts/acknowledge", {
    method: "POST",
    body,
  });
  const rest = answer.unchanged === 0 ? "" : `, ${answer.unchanged} had ended or were so before`;
  await printAnswer(call, answer, () => `${plural(answer.changed, "alert")} changed${rest}\n`);
  return EXIT.done;
}

export function listAlertRules(call: Call): Promise<number> {
  return printList<AlertRuleOut>(call, "api/v1/alert-rules", new URLSearchParams(), [
    { title: "id", whole: true, of: ({ id }) => id },
    { title: "name", of: ({ name }) => name },
    { title: "severity", of: ({ severity }) => severity },
    { title: "on", of: ({ enabled }) => (enabled ? "on" : "off") },
    { title: "firing", of: ({ firing }) => String(firing) },
    { title: "watches", of: ({ watch }) => KIND_WORDS[watch.kind] },
    { title: "not judged", of: ({ fault }) => fault },
  ]);
}

export async function listChannels(call: Call): Promise<number> {
  const { items } = await call.api.get<{ items: ChannelOut[] }>("api/v1/channels");
  const columns: Column<ChannelOut>[] = [
    { title: "name", whole: true, of: ({ name }) => name },
    { title: "kind", of: ({ config }) => config.kind },
    { title: "on", of: ({ enabled }) => (enabled ? "on" : "off") },
    { title: "waiting", of: ({ waiting }) => String(waiting) },
    { title: "last sent", of: ({ lastSentAt }) => lastSentAt },
    { title: "last error", of: ({ lastError }) => lastError },
  ];
  await printAnswer(call, { items }, () => tableText(items, columns, call.terminal.columns));
  if (items.length === 0) call.terminal.say("No channels: alerts are shown in the console only.");
  return EXIT.done;
}

const TEST_MS_MAX = 30_000;
const LOOK_MS = 500;

export async function testChannel(call: Call): Promise<number> {
  const { line, api, clock, signal } = call;
  const path = `api/v1/channels/${encodeURIComponent(line.arguments[0]!)}`;
  const { id } = await api.change<{ id: string }>(`${path}/test`, {
    method: "POST",
    body: {},
    key: randomUUID(),
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

export async function addMarker(call: Call): Promise<number> {
  const { line, api } = call;
  const given = { kind: line.text("kind"), source: line.text("source"), url: line.text("link"), at: line.text("at") };
  const named = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  const key = line.text("idempotency-key") ?? randomUUID();
  const added = await api.change<MarkerOut>("api/v1/markers", {
    method: "POST",
    body: { label: line.arguments[0]!, ...named },
    key,
  });
  await printAnswer(call, added, () => `${added.id}\n`);
  return EXIT.done;
}

export function listMaintenances(call: Call): Promise<number> {
  const filter = new URLSearchParams({ state: call.line.text("state") ?? "live" });
  return printList<MaintenanceOut>(call, "api/v1/maintenances", filter, [
    { title: "id", whole: true, of: ({ id }) => id },
    { title: "of", of: ({ sources }) => sources?.join(", ") ?? "every source" },
    { title: "from", of: ({ from }) => from },
    { title: "until", of: ({ until, endedAt }) => endedAt ?? until },
    { title: "by", of: ({ createdBy }) => createdBy },
    { title: "reason", of: ({ reason }) => reason },
  ]);
}

export async function beginMaintenance(call: Call): Promise<number> {
  const { line, api, clock } = call;
  const sources = line.texts("source");
  const until = new Date(clock.wallMs() + Number(line.text("minutes")) * 60_000).toISOString();
  const body = { sources: sources.length === 0 ? null : sources, until, reason: line.text("reason") };
  const key = line.text("idempotency-key") ?? randomUUID();
  const begun = await api.change<MaintenanceOut>("api/v1/maintenances", { method: "POST", body, key });
  await printAnswer(call, begun, () => `${begun.id}\n`);
  return EXIT.done;
}

export async function endMaintenance(call: Call): Promise<number> {
  const path = `api/v1/maintenances/${encodeURIComponent(call.line.arguments[0]!)}`;
  await call.api.change(path, { method: "DELETE", body: {} });
  await printAnswer(call, {}, () => "ended: what fires is told\n");
  return EXIT.done;
}
