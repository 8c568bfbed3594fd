import { type Call, countText, given, printAnswer, reasonsText, requestKey, sayHints, selectOf } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { confirmed } from "@/lib/cli/confirm";
import { followRedrive } from "@/lib/cli/follow";
import { factsText } from "@/lib/cli/table";
import { causeWords } from "@/lib/guard/approvals/approval.pure";
import { controlCause } from "@/lib/order/controls/control.pure";
import { formatDuration, formatNumber, formatRate, plural } from "@/lib/platform/plain/format.pure";
import type { PreviewOut, SampleOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import type { RedriveAnswer } from "@/lib/redrive/request/redrive-request.shapes";
import { pinSelection } from "@/lib/selection/pin-selection.shapes";

/** Controls that a preview names, the ones that refuse most. */
const CONTROLS_NAMED = 5;

/** `redrive` and `verify`. A verification sends nothing, so it is not asked about. */
export async function redrive(call: Call, mode: "deliver" | "verify"): Promise<number> {
  const { line, api, terminal } = call;
  const request = {
    select: await selectOf(call),
    mode,
    lane: line.text("lane") ?? "slow",
    ...given(call, "target", "earlier"),
    ratePerSecond: line.number("rate"),
    canary: line.flag("canary") || undefined,
    ...(line.texts("despite").length === 0 ? {} : { despite: line.texts("despite") }),
  };
  if (line.flag("preview") || (mode === "deliver" && !line.flag("yes"))) {
    const preview = await api.change<PreviewOut>("api/v1/redrives/preview", { method: "POST", body: request });
    if (line.flag("preview")) {
      return printAnswer(call, preview, () => previewText(preview, line.text("earlier")));
    }
    sayHints(call, preview);
    const asked = preview.eligible ?? preview.total;
    if (asked === null || asked > 0) terminal.say(previewText(preview, line.text("earlier")).trimEnd());
    if (!(await confirmed(call, "Redrive", asked))) return EXIT.refused;
    request.select = pinSelection(request.select, preview.cutoff);
  }
  const key = requestKey(call);
  const body = {
    ...request,
    reason: line.text("reason"),
    startAt: line.text("at") ?? undefined,
    ...(line.flag("when-closed") ? { startWhen: { breakerCloses: true } } : {}),
  };
  const begun = await api.change<RedriveAnswer>("api/v1/redrives", { method: "POST", body, key });
  terminal.say(
    `Redrive ${begun.id}: ${begun.total === null ? "its events are being collected" : plural(begun.total, "event")}`,
  );
  if (begun.waitsFor.includes("approval")) terminal.say(`Another person approves it: parkade approve ${begun.id}`);
  if (!line.flag("detach")) return followRedrive(call, begun.id);
  return printAnswer(call, begun, () => `${begun.id}\n`);
}

function previewText(
  {
    total,
    kind,
    eligible,
    refused,
    byErrorCode,
    controls,
    ratePerSecond,
    etaMs,
    sample,
    earlier,
    approvalCauses,
    unknown,
  }: PreviewOut,
  earlierChosen: string | null,
) {
  const about = kind === "exact" ? "" : kind === "atLeast" ? "at least " : "about ";
  const refusals = Object.values(refused).reduce((sum, count) => sum + count, 0);
  const checked = sample !== null && sample.checked > 0 ? sample : null;
  const wouldBeRefused = checked === null ? 0 : checked.checked - checked.wouldGo;
  return factsText([
    ["selected", total === null ? "unknown" : about + formatNumber(total)],
    ["would be taken", eligible === null ? "unknown" : about + formatNumber(eligible)],
    ["refused", refusals === 0 ? null : countText(refusals, refused)],
    ...(controls ?? [])
      .slice(0, CONTROLS_NAMED)
      .map(
        ({ refuses, control }) =>
          ["", `${refuses === null ? "some" : formatNumber(refuses)} ${controlCause(control)}`] as const,
      ),
    ["by error code", reasonsText(byErrorCode) || null],
    // Where nothing goes there is no rate, and nothing was checked.
    ["rate", eligible === 0 ? null : ratePerSecond === null ? "unlimited" : formatRate(ratePerSecond)],
    ["takes about", etaMs === null ? null : formatDuration(etaMs)],
    ["approval", approvalCauses?.length ? `by a second person: ${approvalCauses.map(causeWords).join(", ")}` : null],
    [
      "dry run",
      checked &&
        `${wouldBeRefused === 0 ? "none" : formatNumber(wouldBeRefused)} of ${formatNumber(checked.checked)} ${checked.whole ? "checked" : "sampled"} would be refused${wouldBeRefused === 0 ? "" : `: ${reasonsText(checked.refused)}`}`,
    ],
    ["for example", sample?.samples[0] ? sampleText(sample.samples[0]) : null],
    ...(sample?.warnings ?? []).map(
      ({ detail, events }) => ["warning", `${plural(events, "event")}: ${detail}`] as const,
    ),
    [
      "earlier",
      earlier && earlier.heldEvents > 0
        ? `${plural(earlier.heldEvents, "event")} behind ${plural(earlier.earlierEvents, "parked earlier version")}${earlierChosen === null ? ": see --earlier" : ""}`
        : null,
    ],
    ["unknown", unknown.map(({ detail }) => detail).join("; ") || null],
  ]);
}

/** One of the events that would be refused, and why. */
function sampleText({ eventId, refusal, findings }: SampleOut["samples"][number]): string {
  return `${eventId}: ${findings[0]?.detail ?? refusal}`;
}
