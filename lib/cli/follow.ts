import { type Call, countText, patiently, printAnswer } from "@/lib/cli/call";
import { EXIT, UsageError } from "@/lib/cli/command";
import { factsText } from "@/lib/cli/table";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { controlCause } from "@/lib/order/controls/control.pure";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { formatDuration, formatNumber, formatRate, plural, visible } from "@/lib/platform/plain/format.pure";
import type { RedriveItemList } from "@/lib/redrive/list/redrive-items.shapes";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { isFinal } from "@/lib/states/redrive-state.pure";

/** Between two reads of what is followed. */
const POLL_MS = { first: 250, max: 2_000 };
const HELD_NAMED = 3;
/** Controls that are named, among those of so many refused events. */
const CONTROLS_NAMED = 5;
const CONTROLLED_READ = 50;

/** `follow`: the id is that of a redrive or of a bulk operation. */
export async function follow(call: Call): Promise<number> {
  const id = call.line.arguments[0]!;
  return eitherKind(
    () => followRedrive(call, id),
    () => followOperation(call, id),
  );
}

async function eitherKind<T>(redrive: () => Promise<T>, operation: () => Promise<T>): Promise<T> {
  try {
    return await redrive();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "unknown-redrive") throw error;
  }
  try {
    return await operation();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "unknown-operation") throw error;
    throw new ApiError("unknown-redrive", `${error.detail}, nor such a redrive`, { status: 404, fields: error.fields });
  }
}

export async function followRedrive(call: Call, id: string): Promise<number> {
  const ended = await until<RedriveOut>(call, {
    path: `api/v1/redrives/${id}`,
    stopped: stoppedFollowing("redrive", id),
    // The items of a cancelled redrive are given back after its state was written.
    over: ({ state, open }) => (isFinal(state) && open === 0) || state === "PAUSED",
    progress: redriveProgress,
  });
  if (ended === null) return EXIT.interrupted;
  await printAnswer(call, ended, () => redriveText(ended));
  await sayHeld(call, ended);
  await sayControls(call, ended);
  if (ended.state === "PAUSED") {
    call.terminal.say(
      `Paused${ended.pauseReason ? ` (${ended.pauseReason})` : ""}: \`parkade resume ${id}\` continues it.`,
    );
  }
  const { failed, refused, cancelled, bounced } = ended;
  return ended.state === "DONE" && failed + refused + cancelled + bounced === 0 ? EXIT.done : EXIT.partly;
}

/** What holds the events that were held, and the way to take it along. */
async function sayHeld(call: Call, { id, earlier, refusedByReason }: RedriveOut): Promise<void> {
  const held = refusedByReason["held-by-head"] ?? 0;
  if (held === 0) return;
  const query = new URLSearchParams({ outcome: "refused", result: "held-by-head", limit: String(HELD_NAMED) });
  const { api, terminal } = call;
  const { items } = await patiently(call, () => api.get<RedriveItemList>(`api/v1/redrives/${id}/items`, query));
  for (const { eventId, detail } of items) terminal.say(visible(`${eventId} is held: ${detail}`));
  if (held > items.length) terminal.say(`and ${formatNumber(held - items.length)} more`);
  if (earlier === "hold") terminal.say("--earlier include also sends the earlier versions.");
}

/** The controls that refuse what they refused still, each with the first event that it refuses. */
async function sayControls(call: Call, { id, refusedByReason }: RedriveOut): Promise<void> {
  const said = new Set<string>();
  for (const result of ["blacklisted", "cooling"]) {
    if (!refusedByReason[result]) continue;
    const query = new URLSearchParams({ outcome: "refused", result, limit: String(CONTROLLED_READ) });
    const { items } = await patiently(call, () => call.api.get<RedriveItemList>(`api/v1/redrives/${id}/items`, query));
    for (const { eventId, control } of items) {
      if (!control || said.has(control.id) || said.size === CONTROLS_NAMED) continue;
      said.add(control.id);
      call.terminal.say(visible(`${eventId} is ${controlCause(control)}`));
    }
  }
}

export async function followOperation(call: Call, id: string): Promise<number> {
  const ended = await until<BulkOperationOut>(call, {
    path: `api/v1/operations/${id}`,
    stopped: stoppedFollowing("bulk operation", id),
    over: ({ state }) => state !== "RUNNING",
    progress: ({ state, changed, refused, expected, stalled, etaMs }) =>
      [
        `${state} ${formatNumber(changed + refused)} of ${expected.kind === "exact" ? "" : "about "}${formatNumber(expected.value)}`,
        etaMs === null ? null : `${formatDuration(etaMs)} left`,
        stalled,
      ]
        .filter(Boolean)
        .join(", "),
  });
  if (ended === null) return EXIT.interrupted;
  await printAnswer(call, ended, () =>
    factsText([
      ["operation", ended.id],
      ["state", ended.state],
      ["changed", formatNumber(ended.changed)],
      ["refused", countText(ended.refused, ended.refusedByReason)],
    ]),
  );
  return ended.state === "DONE" && ended.refused === 0 ? EXIT.done : EXIT.partly;
}

function stoppedFollowing(what: string, id: string): string {
  return `Stopped following. The ${what} ${id} continues: \`parkade follow ${id}\` shows it, \`parkade cancel ${id}\` stops it.`;
}

type Followed<Answer> = {
  path: string;
  /** Said when the person stops following. */
  stopped: string;
  over(answer: Answer): boolean;
  progress(answer: Answer): string;
};

/** Reads until it is over; null = the person has stopped following. */
export async function until<Answer>(
  call: Call,
  { path, stopped, over, progress }: Followed<Answer>,
): Promise<Answer | null> {
  const { api, terminal, clock, signal } = call;
  try {
    for (let pauseMs = POLL_MS.first; ; pauseMs = Math.min(pauseMs * 2, POLL_MS.max)) {
      const answer = await patiently(call, () => api.get<Answer>(path));
      if (over(answer)) return answer;
      terminal.progress(progress(answer));
      await clock.sleep(pauseMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    terminal.say(stopped);
    return null;
  }
}

function redriveProgress(redrive: RedriveOut): string {
  const { state, total, open, failed, refused, bounced, rateNow, etaMs, stalled } = redrive;
  return [
    state === "PLANNING" ? "PLANNING" : `${state} ${formatNumber(total - open)} of ${formatNumber(total)}`,
    failed > 0 ? `${formatNumber(failed)} failed` : null,
    refused > 0 ? `${formatNumber(refused)} refused` : null,
    bounced > 0 ? `${formatNumber(bounced)} bounced` : null,
    rateNow === null ? null : formatRate(rateNow),
    etaMs === null ? null : `${formatDuration(etaMs)} left`,
    stalled?.text,
  ]
    .filter(Boolean)
    .join(", ");
}

function redriveText(redrive: RedriveOut): string {
  const { mode, failed, failedByReason, refused, refusedByReason, cancelled, open } = redrive;
  return factsText([
    ["redrive", redrive.id],
    ["state", redrive.state],
    ["target", redrive.target],
    ["total", formatNumber(redrive.total)],
    mode === "verify" ? ["passed", formatNumber(redrive.passed)] : ["sent", formatNumber(redrive.sent)],
    ["deduplicated", redrive.deduplicated === 0 ? null : formatNumber(redrive.deduplicated)],
    ["failed", countText(failed, failedByReason)],
    ["refused", countText(refused, refusedByReason)],
    ["cancelled", cancelled === 0 ? null : formatNumber(cancelled)],
    ["open", open === 0 ? null : formatNumber(open)],
    ["confirmed", redrive.confirmed === 0 ? null : formatNumber(redrive.confirmed)],
    ["bounced", redrive.bounced === 0 ? null : formatNumber(redrive.bounced)],
    [
      "not confirmed yet",
      redrive.unknown === 0
        ? null
        : `${formatNumber(redrive.unknown)}${redrive.unknownUntil ? ` until ${redrive.unknownUntil}` : ""}`,
    ],
  ]);
}

/** `pause`, `resume`, `start`, `cancel` and `undo`; a bulk operation can be cancelled alone. */
export async function steer(call: Call, action: "pause" | "resume" | "start" | "cancel" | "undo"): Promise<number> {
  const { line, api } = call;
  const id = line.arguments[0]!;
  const reason = line.text("reason");
  const pace = action === "resume" ? { ratePerSecond: line.number("rate"), canary: line.flag("canary") || null } : {};
  const given = Object.entries({ reason, ...pace }).filter(([, value]) => value !== null);
  const change = { method: "PATCH", body: { action, ...Object.fromEntries(given) } } as const;
  const patchRedrive = () => api.change<RedriveOut & { underWay: number | null }>(`api/v1/redrives/${id}`, change);
  if (action !== "cancel") return printSteered(call, await patchRedrive());
  return eitherKind(
    async () => printSteered(call, await patchRedrive()),
    async () => printSteered(call, await api.change<BulkOperationOut>(`api/v1/operations/${id}`, change)),
  );
}

/** `pace`: each given value is a change of its own. */
export async function setPace(call: Call): Promise<number> {
  const { line, api } = call;
  const values = {
    ratePerSecond: line.number("rate"),
    concurrency: line.number("concurrency"),
    lane: line.text("lane"),
  };
  const asked = Object.entries(values).filter(([, value]) => value !== null);
  if (asked.length === 0) throw new UsageError("give --rate, --concurrency or --lane", line.command);
  let answer: (RedriveOut & { underWay: number | null }) | null = null;
  for (const [name, value] of asked) {
    const change = { method: "PATCH", body: { [name]: value } } as const;
    answer = await api.change<RedriveOut & { underWay: number | null }>(`api/v1/redrives/${line.arguments[0]}`, change);
  }
  return printSteered(call, answer!);
}

async function printSteered(
  call: Call,
  answer: (RedriveOut & { underWay: number | null }) | BulkOperationOut,
): Promise<number> {
  const sends = "underWay" in answer && answer.underWay ? `, ${plural(answer.underWay, "send")} still under way` : "";
  return printAnswer(call, answer, () => `${answer.id} is ${answer.state}${sends}\n`);
}
