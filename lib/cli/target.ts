import { randomUUID } from "node:crypto";
import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { configOf } from "@/lib/cli/source";
import { factsText, tableText } from "@/lib/cli/table";
import { formatRate } from "@/lib/platform/plain/format.pure";
import type { TargetList, TargetOut } from "@/lib/sources/sources.shapes";

const TARGETS = "api/v1/targets";

/** All of them: the API has them on one page. */
export async function readTargets({ api }: Pick<Call, "api">): Promise<TargetOut[]> {
  return (await api.get<TargetList>(TARGETS)).items;
}

export async function listTargets(call: Call): Promise<number> {
  const targets = await readTargets(call);
  await printAnswer(call, { items: targets, nextCursor: null }, () =>
    tableText(
      targets,
      [
        { title: "name", of: ({ name }) => name },
        { title: "source", of: ({ source }) => source },
        { title: "lane", of: ({ lane }) => lane },
        { title: "rate", of: ({ ratePerSecond }) => rateText(ratePerSecond) },
        { title: "held", of: ({ breakerForce }) => breakerForce },
        { title: "address", of: ({ address }) => address },
      ],
      call.terminal.columns,
    ),
  );
  return EXIT.done;
}

export async function addTarget(call: Call): Promise<number> {
  const { line, api } = call;
  const path = `api/v1/sources/${encodeURIComponent(line.text("source")!)}/targets`;
  const body = {
    name: line.arguments[0],
    destination: configOf(call),
    retryable: line.flag("retryable"),
    reason: line.text("reason"),
  };
  const key = line.text("idempotency-key") ?? randomUUID();
  const target = await api.change<TargetOut>(path, { method: "POST", body, key });
  await printAnswer(call, target, () =>
    factsText([
      ["target", target.name],
      ["source", target.source],
      ["address", target.address],
      ["rate", rateText(target.ratePerSecond)],
    ]),
  );
  return EXIT.done;
}

export async function removeTarget(call: Call): Promise<number> {
  const { line, api } = call;
  const name = line.arguments[0]!;
  const body = { reason: line.text("reason") };
  await api.change(`${TARGETS}/${encodeURIComponent(name)}`, { method: "DELETE", body });
  await printAnswer(call, { removed: name }, () => factsText([["removed", name]]));
  return EXIT.done;
}

function rateText(ratePerSecond: number | null): string {
  return ratePerSecond === null ? "unlimited" : formatRate(ratePerSecond);
}
