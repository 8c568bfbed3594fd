import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { factsText, tableText } from "@/lib/cli/table";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { formatDuration, formatNumber } from "@/lib/platform/plain/format.pure";
import { ruleTerms } from "@/lib/rules/redrive-rule.pure";
import type { RedriveRuleList, RedriveRuleOut, RedriveRuleTrial } from "@/lib/rules/redrive-rules.shapes";

const RULES = "api/v1/redrive-rules";

async function readRules({ api }: Call): Promise<RedriveRuleOut[]> {
  return (await api.get<RedriveRuleList>(RULES)).items;
}

/** By its name or its id. */
async function ruleOf(call: Call): Promise<RedriveRuleOut> {
  const asked = call.line.arguments[0]!;
  const rule = (await readRules(call)).find(({ id, name }) => name === asked || id === asked);
  if (!rule) throw new ApiError("unknown-redrive-rule", `There is no redrive rule ${asked}`, { status: 404 });
  return rule;
}

const stateOf = ({ enabled, stopped }: RedriveRuleOut) => (enabled ? "on" : stopped ? "stopped" : "off");

export async function listRedriveRules(call: Call): Promise<number> {
  const rules = await readRules(call);
  await printAnswer(call, { items: rules }, () =>
    tableText(
      rules,
      [
        { title: "name", of: ({ name }) => name },
        { title: "state", of: stateOf },
        { title: "delay", of: ({ delayMs }) => formatDuration(delayMs) },
        { title: "lane", of: ({ lane }) => lane },
        { title: "24 h", of: ({ lastDay }) => formatNumber(lastDay) },
        { title: "stopped", of: ({ stopped }) => stopped?.reason ?? null },
        { title: "filter", of: ({ filter }) => JSON.stringify(filter) },
      ],
      call.terminal.columns,
    ),
  );
  return EXIT.done;
}

export async function tryRedriveRule(call: Call): Promise<number> {
  const rule = await ruleOf(call);
  const body = {
    rule: ruleTerms(rule),
    id: rule.id,
    days: Number(call.line.text("days") ?? 7),
  };
  const trial = await call.api.change<RedriveRuleTrial>(`${RULES}/try`, { method: "POST", body });
  await printAnswer(call, trial, () =>
    factsText([
      ["would have redriven", `${trial.bounded ? "at least " : ""}${formatNumber(trial.taken)}`],
      ["stayed processed", formatNumber(trial.stayed)],
      ["failed or came back", formatNumber(trial.cameBack)],
      ["not yet confirmed", trial.sent || null],
      ["never redriven", formatNumber(trial.never)],
      ["left before", trial.left || null],
      ["not due", trial.waits || null],
      ["over the limits", trial.limited || null],
      ["marked", trial.marked || null],
      ["parked now", `${trial.parkedNow.bounded ? "more than " : ""}${formatNumber(trial.parkedNow.count)}`],
      ["trial", trial.id],
    ]),
  );
  return EXIT.done;
}

export async function switchRedriveRule(call: Call, enabled: boolean): Promise<number> {
  const { line, api } = call;
  const { id } = await ruleOf(call);
  const trial = line.text("trial");
  const body = { enabled, reason: line.text("reason"), ...(trial === null ? {} : { trial }) };
  const rule = await api.change<RedriveRuleOut>(`${RULES}/${id}`, { method: "PATCH", body });
  await printAnswer(call, rule, () =>
    factsText([
      ["rule", rule.name],
      ["state", stateOf(rule)],
    ]),
  );
  return EXIT.done;
}
