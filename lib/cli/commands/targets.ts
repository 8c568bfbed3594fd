import { type Call, printAnswer, requestKey } from "@/lib/cli/call";
import { type Command, idempotencyKeyOption, requiredReasonOption, retryableOption } from "@/lib/cli/command";
import { configOf } from "@/lib/cli/commands/sources";
import { checkContracts } from "@/lib/cli/contract";
import { printTable } from "@/lib/cli/lists";
import { factsText } from "@/lib/cli/table";
import { formatRate } from "@/lib/platform/plain/format.pure";
import type { TargetList, TargetOut } from "@/lib/sources/sources.shapes";

const TARGETS = "api/v1/targets";

/** All of them: the API has them on one page. */
export async function readTargets({ api }: Pick<Call, "api">): Promise<TargetOut[]> {
  return (await api.get<TargetList>(TARGETS)).items;
}

async function listTargets(call: Call): Promise<number> {
  const targets = await readTargets(call);
  return printTable(call, { items: targets, nextCursor: null }, [
    "name",
    "source",
    "lane",
    ["rate", ({ ratePerSecond }) => rateText(ratePerSecond)],
    ["held", "breakerForce"],
    "address",
  ]);
}

async function addTarget(call: Call): Promise<number> {
  const { line, api } = call;
  const path = `api/v1/sources/${encodeURIComponent(line.text("source")!)}/targets`;
  const body = {
    name: line.arguments[0],
    destination: configOf(call),
    retryable: line.flag("retryable"),
    reason: line.text("reason"),
  };
  const key = requestKey(call);
  const target = await api.change<TargetOut>(path, { method: "POST", body, key });
  return printAnswer(call, target, () =>
    factsText([
      ["target", target.name],
      ["source", target.source],
      ["address", target.address],
      ["rate", rateText(target.ratePerSecond)],
    ]),
  );
}

async function removeTarget(call: Call): Promise<number> {
  const { line, api } = call;
  const name = line.arguments[0]!;
  const body = { reason: line.text("reason") };
  await api.change(`${TARGETS}/${encodeURIComponent(name)}`, { method: "DELETE", body });
  return printAnswer(call, { removed: name }, () => factsText([["removed", name]]));
}

function rateText(ratePerSecond: number | null): string {
  return ratePerSecond === null ? "unlimited" : formatRate(ratePerSecond);
}

export const TARGET_COMMANDS: readonly Command[] = [
  {
    name: "target list",
    summary: "List the targets",
    details: "Those of each source's lanes, and the named ones: where they deliver, and how fast.",
    examples: ["parkade target list"],
    run: listTargets,
  },
  {
    name: "target add",
    summary: "Add a named target to a source",
    arguments: [{ name: "name" }],
    options: [
      { name: "source", value: "name", names: "sources", required: true, text: "The source, whose connection it uses" },
      { name: "set", value: "path=text", many: true, text: "A field of the destination, as in `source add`" },
      { name: "config", value: "json", text: "The destination as JSON; @file reads it from a file" },
      retryableOption,
      requiredReasonOption,
      idempotencyKeyOption,
    ],
    details:
      "Another destination at the same broker. Nothing is sent there unless a redrive names it with --target. It starts at 5 events per second; its rate and its breaker are changed in the console, or by the API.",
    examples: [
      'parkade target add orders.audit --source orders --set redriveTo.queue=audit.orders --reason "the audit missed a day"',
    ],
    run: addTarget,
  },
  {
    name: "target remove",
    summary: "Remove a named target",
    arguments: [{ name: "name", names: "targets" }],
    options: [requiredReasonOption],
    details:
      "Refused while a redrive delivers to it, or another target falls back to it. The history of events keeps its name.",
    examples: ['parkade target remove orders.audit --reason "the audit has them"'],
    run: removeTarget,
  },
  {
    name: "contract",
    summary: "Check the contracts of targets and sources",
    arguments: [{ name: "name", names: "targets", optional: true }],
    options: [
      { name: "strict", text: "End with 2 when an assertion is unknown and none is broken" },
      {
        name: "format",
        value: "format",
        values: ["table", "json", "markdown"],
        text: "How the reports are printed; default: table",
      },
    ],
    details:
      "Each assertion of a contract with the numbers put in: it holds, is broken, or is unknown. Every target and source with a contract, or those of one name: a source and the target of its main lane share theirs. Ends with 1 when an assertion is broken, so that a build can stop there; with 2 when nothing of that name has a contract. Unknown assertions end with 0, or with 2 under --strict.",
    examples: [
      "parkade contract",
      "parkade contract orders --format markdown > contract.md",
      "parkade contract --strict",
    ],
    run: checkContracts,
  },
];
