import { randomUUID } from "node:crypto";
import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { UsageError } from "@/lib/cli/command-line";
import { givenOptions, holdText, printList } from "@/lib/cli/lists";
import type { HoldOut } from "@/lib/keep/holds/holds.shapes";
import { visible } from "@/lib/platform/plain/format.pure";

const HOLDS = "api/v1/holds";

export function listHolds(call: Call): Promise<number> {
  const filter = new URLSearchParams({ state: call.line.text("state") ?? "live" });
  return printList<HoldOut>(call, HOLDS, filter, [
    { title: "id", whole: true, of: ({ id }) => id },
    { title: "over", of: holdText },
    { title: "by", of: ({ createdBy }) => createdBy },
    { title: "placed", of: ({ createdAt }) => createdAt },
    { title: "lifted", of: ({ liftedAt }) => liftedAt },
    { title: "reason", of: ({ reason }) => reason },
  ]);
}

export async function placeHold(call: Call): Promise<number> {
  const { line, api } = call;
  const named = givenOptions(call, "eventId", "aggregateId", "aggregateType", "errorCode", "source");
  const tag = line.text("tag");
  if (named.size === 0 && tag === null) {
    throw new UsageError("name what it covers: --eventId, --aggregateId, --tag, --errorCode or --source", line.command);
  }
  const scope = { ...Object.fromEntries(named), ...(tag === null ? {} : { tag: tagOf(tag, line.command) }) };
  const body = { scope, from: line.text("from"), to: line.text("to"), reason: line.text("reason") };
  const key = line.text("idempotency-key") ?? randomUUID();
  const placed = await api.change<HoldOut>(HOLDS, { method: "POST", body, key });
  await printAnswer(call, placed, () => `${placed.id}\n`);
  return EXIT.done;
}

function tagOf(text: string, command: UsageError["command"]): { name: string; value: string } {
  const at = text.indexOf("=");
  if (at <= 0) throw new UsageError("--tag needs a name and a value, such as --tag customerId=42", command);
  return { name: text.slice(0, at), value: text.slice(at + 1) };
}

export async function liftHold(call: Call): Promise<number> {
  const { line, api } = call;
  const path = `${HOLDS}/${encodeURIComponent(line.arguments[0]!)}`;
  const lifted = await api.change<HoldOut>(path, { method: "DELETE", body: { reason: line.text("reason") } });
  await printAnswer(call, lifted, () => visible(`legal hold over ${holdText(lifted)} lifted\n`));
  return EXIT.done;
}
