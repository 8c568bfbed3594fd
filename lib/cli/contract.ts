import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { tableText } from "@/lib/cli/table";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { visible } from "@/lib/platform/plain/format.pure";
import { reportMarkdown } from "@/lib/sources/contracts/assertion.pure";
import type {
  ContractReportList,
  ContractReportOut,
  SourceContractReportOut,
} from "@/lib/sources/contracts/contracts.shapes";

/**
 * Ends with 1 when an assertion is broken, so that a build can stop there, and with 2 when nothing of that name has a contract. Unknown
 * assertions break nothing, unless --strict asks for 2.
 */
export async function checkContracts(call: Call): Promise<number> {
  const { line, api, terminal } = call;
  const [name] = line.arguments;
  const reports =
    name === undefined ? await api.get<ContractReportList>("api/v1/contracts") : await reportsOf(call, name);
  if (reports === null) return EXIT.usage;
  const format = line.text("format") ?? "table";
  if (format === "json") await terminal.print(`${JSON.stringify(reports)}\n`);
  else await printAnswer(call, reports, () => (format === "markdown" ? markdown(reports) : table(call, reports)));
  const results = [...reports.items, ...reports.sources].map(({ result }) => result);
  if (results.includes("broken")) return EXIT.refused;
  return line.flag("strict") && results.includes("unknown") ? EXIT.usage : EXIT.done;
}

/** A source and the target of its main lane have one name: the contracts of both are checked. null = neither has one. */
async function reportsOf({ api, terminal }: Call, name: string): Promise<ContractReportList | null> {
  const faults: string[] = [];
  const absent = (error: unknown) => {
    if (!(error instanceof ApiError) || (error.code !== "unknown-target" && error.code !== "unknown-source"))
      throw error;
    faults.push(error.message);
    return [];
  };
  const path = encodeURIComponent(name);
  const items = await api.get<ContractReportOut>(`api/v1/contracts/${path}`).then((report) => [report], absent);
  const sources = await api
    .get<SourceContractReportOut>(`api/v1/sources/${path}/contract`)
    .then((report) => [report], absent);
  if (items.length + sources.length > 0) return { items, sources };
  const hasNone = faults.find((fault) => fault.includes("has no contract"));
  terminal.say(visible(hasNone ?? `There is no target or source ${JSON.stringify(name)}`));
  return null;
}

/** Each report with the words that name what it is of. */
function named({ items, sources }: ContractReportList) {
  return [
    ...items.map((report) => ({ of: report.target, ...report })),
    ...sources.map((report) => ({ of: `source ${report.source}`, ...report })),
  ];
}

function markdown(reports: ContractReportList): string {
  return named(reports)
    .map((report) => visible(reportMarkdown(report.of, report)))
    .join("\n");
}

function table({ terminal }: Call, reports: ContractReportList): string {
  const rows = named(reports).flatMap(({ of, assertions }) => assertions.map((assertion) => ({ of, ...assertion })));
  if (rows.length === 0) return "No target and no source has a contract.\n";
  return tableText(
    rows,
    [
      "of",
      ["assertion", "id"],
      "result",
      ["numbers", ({ numbers, reason }) => (reason === null ? numbers : `${numbers} (${reason})`)],
    ],
    terminal.columns,
  );
}
