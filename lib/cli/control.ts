import { randomUUID } from "node:crypto";
import { type Call, printAnswer } from "@/lib/cli/call";
import { UsageError } from "@/lib/cli/command-line";
import { EXIT } from "@/lib/cli/command-table";
import { givenOptions, scopeText } from "@/lib/cli/lists";
import type { ControlOut, ControlRequest } from "@/lib/contract/controls";
import { plural, visible } from "@/lib/core/format";

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
  if (imposed.underWay !== 0) {
    const { underWay } = imposed;
    call.terminal.say(
      underWay === null ? "Sends under way: not counted." : `${plural(underWay, "send")} still under way.`,
    );
  }
  return EXIT.done;
}

export async function liftControl(call: Call): Promise<number> {
  const { line, api } = call;
  const path = `${CONTROLS}/${encodeURIComponent(line.arguments[0]!)}`;
  const reason = line.text("reason");
  const body = reason === null ? {} : { reason };
  const lifted = await api.change<ControlOut>(path, { method: "DELETE", body });
  await printAnswer(call, lifted, () => visible(`${lifted.kind} over ${scopeText(lifted.scope)} lifted\n`));
  return EXIT.done;
}
