import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { tableText } from "@/lib/cli/table";
import { visible } from "@/lib/platform/plain/format.pure";
import { reportMarkdown } from "@/lib/sources/contracts/contract.pure";
import type { ContractReportOut } from "@/lib/sources/contracts/contracts.shapes";

const CONTRACTS = "api/v1/contracts";

/** Ends with 1 when an assertion is broken, so that a build can stop there; unknown ones break nothing. */
export async function checkContracts(call: Call): Promise<number> {
  const { line, api, terminal } = call;
  const [name] = line.arguments;
  const items =
    name === undefined
      ? (await api.get<{ items: ContractReportOut[] }>(CONTRACTS)).items
      : [await api.get<ContractReportOut>(`${CONTRACTS}/${encodeURIComponent(name)}`)];
  const format = line.text("format") ?? "table";
  if (format === "json") await terminal.print(`${JSON.stringify({ items })}\n`);
  else await printAnswer(call, { items }, () => (format === "markdown" ? markdown(items) : table(call, items)));
  return items.some(({ result }) => result === "broken") ? EXIT.refused : EXIT.done;
}

function markdown(items: readonly ContractReportOut[]): string {
  return items.map((report) => visible(reportMarkdown(report))).join("\n");
}

function table({ terminal }: Call, items: readonly ContractReportOut[]): string {
  if (items.length === 0) return "No target has a contract.\n";
  return tableText(
    items.flatMap(({ target, assertions }) => assertions.map((assertion) => ({ target, ...assertion }))),
    [
      { title: "target", of: ({ target }) => target },
      { title: "assertion", of: ({ id }) => id },
      { title: "result", of: ({ result }) => result },
      { title: "numbers", of: ({ numbers, reason }) => (reason === null ? numbers : `${numbers} (${reason})`) },
    ],
    terminal.columns,
  );
}
