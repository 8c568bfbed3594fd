import { type Call, given, printAnswer } from "@/lib/cli/call";
import { type Command, requiredReasonOption } from "@/lib/cli/command";
import { printTable } from "@/lib/cli/lists";
import { factsText } from "@/lib/cli/table";
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

async function listRedriveRules(call: Call): Promise<number> {
  const rules = await readRules(call);
  return printTable(call, { items: rules }, [
    "name",
    ["state", stateOf],
    ["delay", ({ delayMs }) => formatDuration(delayMs)],
    "lane",
    ["24 h", ({ lastDay }) => formatNumber(lastDay)],
    ["stopped", ({ stopped }) => stopped?.reason ?? null],
    ["filter", ({ filter }) => JSON.stringify(filter)],
  ]);
}

async function tryRedriveRule(call: Call): Promise<number> {
  const rule = await ruleOf(call);
  const body = {
    rule: ruleTerms(rule),
    id: rule.id,
    days: Number(call.line.text("days") ?? 7),
  };
  const trial = await call.api.change<RedriveRuleTrial>(`${RULES}/try`, { method: "POST", body });
  return printAnswer(call, trial, () =>
    factsText([
      ["would have redriven", `${trial.bounded ? "at least " : ""}${formatNumber(trial.taken)}`],
      ["succeeded", formatNumber(trial.stayed)],
      ["failed or bounced", formatNumber(trial.cameBack)],
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
}

async function switchRedriveRule(call: Call, enabled: boolean): Promise<number> {
  const { id } = await ruleOf(call);
  const body = { enabled, ...given(call, "reason", "trial") };
  const rule = await call.api.change<RedriveRuleOut>(`${RULES}/${id}`, { method: "PATCH", body });
  return printAnswer(call, rule, () =>
    factsText([
      ["rule", rule.name],
      ["state", stateOf(rule)],
    ]),
  );
}

export const REDRIVE_RULE_COMMANDS: readonly Command[] = [
  {
    name: "redrive-rule list",
    summary: "List the redrive rules",
    details: "In their order: an event belongs to the first rule that is on and matches it.",
    examples: ["parkade redrive-rule list"],
    run: listRedriveRules,
  },
  {
    name: "redrive-rule try",
    summary: "Show what a redrive rule would have done in the last days",
    arguments: [{ name: "name" }],
    options: [{ name: "days", value: "n", number: "whole", text: "At most 30; default 7" }],
    details: "It changes nothing. `redrive-rule on` takes the id of the trial that it prints.",
    examples: ['parkade redrive-rule try "timeouts of orders" --days 14'],
    run: tryRedriveRule,
  },
  {
    name: "redrive-rule on",
    summary: "Switch a redrive rule on",
    arguments: [{ name: "name" }],
    options: [
      { name: "trial", value: "id", required: true, text: "The trial of the rule as it is, from `redrive-rule try`" },
      requiredReasonOption,
    ],
    details: "A worker begins within seconds. The rule switches itself off when its events fail or bounce.",
    examples: [
      'parkade redrive-rule on "timeouts of orders" --trial 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b40 --reason "390 of 412 stayed"',
    ],
    run: (call) => switchRedriveRule(call, true),
  },
  {
    name: "redrive-rule off",
    summary: "Switch a redrive rule off",
    arguments: [{ name: "name" }],
    options: [requiredReasonOption],
    details: "The rule starts no more redrives. Redrives it already started continue: `parkade cancel` stops them.",
    examples: ['parkade redrive-rule off "timeouts of orders" --reason "the stock service is rebuilt"'],
    run: (call) => switchRedriveRule(call, false),
  },
];
