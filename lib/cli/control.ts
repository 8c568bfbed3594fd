import { randomUUID } from "node:crypto";
import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { UsageError } from "@/lib/cli/command-line";
import { confirmed } from "@/lib/cli/confirm";
import { givenOptions, scopeText } from "@/lib/cli/lists";
import type { ControlOut, ControlRequest, LiftedMany } from "@/lib/order/controls/controls.shapes";
import { plural, visible } from "@/lib/platform/plain/format.pure";

const CONTROLS = "api/v1/controls";

/** `control blacklist`, `cooldown` and `whitelist`. */
export async function imposeControl(call: Call, kind: ControlRequest["kind"]): Promise<number> {
  const { line, api } = call;
  const scope = Object.fromEntries(
    givenOptions(call, "eventId", "aggregateId", "aggregateType", "errorCode", "source"),
  );
  if (Object.keys(scope).length === 0) {
    throw new UsageError("name what it is over: --eventId, --aggregateId, --errorCode or --source", line.command);
  }
  const body = { kind, scope, reason: line.text("reason"), expiresAt: line.text("until") };
  const key = line.text("idempotency-key") ?? randomUUID();
  const imposed = await api.change<ControlOut & { underWay: number | null }>(CONTROLS, { method: "POST", body, key });
  await printAnswer(call, imposed, () => `${imposed.id}\n`);
  // It may be meant for what comes, or be misspelt.
  if (imposed.catches === 0) call.terminal.say("It catches no parked event now.");
  if (imposed.underWay !== 0) {
    const { underWay } = imposed;
    call.terminal.say(
      underWay === null ? "Sends under way: not counted." : `${plural(underWay, "send")} still under way.`,
    );
  }
  return EXIT.done;
}

/** All that match `--source`, `--redrive`, `--aggregateId`, `--kind`; `--automatic` = those that Parkade imposed. */
async function liftMatching(call: Call): Promise<number> {
  const { line, api, terminal } = call;
  const named = Object.fromEntries(givenOptions(call, "source", "redrive", "aggregateId", "kind"));
  const filter = { ...named, ...(line.flag("automatic") ? { origin: "automatic" } : {}) };
  const reason = line.text("reason") ?? "lifted";
  if (Object.keys(filter).length === 0) {
    throw new UsageError(
      "give the id of a control, or --source, --redrive, --aggregateId, --kind or --automatic",
      line.command,
    );
  }
  const path = `${CONTROLS}/lift`;
  const found = await api.change<LiftedMany>(path, { method: "POST", body: { filter, reason, dryRun: true } });
  if (!(await confirmed(call, "Lift", found.controls, { noun: "control" }))) return EXIT.refused;
  const key = line.text("idempotency-key") ?? randomUUID();
  const lifted = await api.change<LiftedMany>(path, { method: "POST", body: { filter, reason }, key });
  await printAnswer(call, lifted, () => `${plural(lifted.controls, "control")} lifted\n`);
  if (lifted.more) terminal.say("Others match: lift again.");
  return EXIT.done;
}

export async function liftControl(call: Call): Promise<number> {
  const { line, api } = call;
  if (line.arguments[0] === undefined) return liftMatching(call);
  if (givenOptions(call, "source", "redrive", "aggregateId", "kind").size > 0 || line.flag("automatic")) {
    throw new UsageError("give either the id of a control or the options that match several, not both", line.command);
  }
  const path = `${CONTROLS}/${encodeURIComponent(line.arguments[0])}`;
  const reason = line.text("reason");
  const body = reason === null ? {} : { reason };
  const lifted = await api.change<ControlOut>(path, { method: "DELETE", body });
  await printAnswer(call, lifted, () => visible(`${lifted.kind} over ${scopeText(lifted.scope)} lifted\n`));
  return EXIT.done;
}
