import { type Call, given, printAnswer } from "@/lib/cli/call";
import { EXIT, UsageError } from "@/lib/cli/command";
import { printTable } from "@/lib/cli/lists";
import { factsText } from "@/lib/cli/table";
import type { ApprovalList, ApprovalOut } from "@/lib/guard/approvals/approvals.shapes";
import { formatNumber, formatRate } from "@/lib/platform/plain/format.pure";

/** `approvals`: what waits for a second person. */
export async function listApprovals(call: Call): Promise<number> {
  const list = await call.api.get<ApprovalList>("api/v1/approvals", new URLSearchParams({ state: "asked" }));
  return printTable(call, list, [
    "id",
    ["what", ({ subjectKind }) => (subjectKind === "redrive" ? "redrive" : "mend")],
    ["events", ({ terms }) => terms.events],
    ["asked by", "askedBy"],
    ["until", "expiresAt"],
  ]);
}

/** `approve` and `reject`. Without --digest it shows what is approved, and asks. */
export async function decide(call: Call, decision: "approve" | "reject"): Promise<number> {
  const { line, api, terminal } = call;
  const path = `api/v1/approvals/${line.arguments[0]!}`;
  let digest = line.text("digest");
  if (digest === null) {
    const asked = await api.get<ApprovalOut>(path);
    digest = asked.digest;
    terminal.say(termsText(asked).trimEnd());
    const typed = await terminal.ask(`${decision === "approve" ? "Approve" : "Reject"} this? Type yes to continue: `);
    if (typed === null)
      throw new UsageError(
        `there is no terminal to ask for confirmation: pass what you reviewed with --digest`,
        line.command,
      );
    if (typed.trim() !== "yes") {
      terminal.say("Nothing was changed.");
      return EXIT.refused;
    }
  }
  const body = { decision, digest, ...given(call, "reason") };
  const answer = await api.change<ApprovalOut>(path, { method: "PATCH", body });
  return printAnswer(call, answer, () => `${answer.id} is ${answer.state === "given" ? "approved" : answer.state}\n`);
}

function termsText({ terms, askedBy, digest }: ApprovalOut): string {
  const { events, lane, target, ratePerSecond, canary, brake, recipe } = terms;
  if (lane === null) {
    const recipeText = JSON.stringify(recipe);
    return factsText([
      ["asked by", askedBy],
      ["events", formatNumber(events)],
      ["recipe", recipeText],
      ["digest", digest],
    ]);
  }
  return factsText([
    ["asked by", askedBy],
    ["events", formatNumber(events)],
    ["to", target ?? "the target of each event's source"],
    ["lane", lane],
    ["rate", ratePerSecond === null ? "as fast as its targets accept" : formatRate(ratePerSecond)],
    ["canary", canary === null ? "none" : canary.steps.join(", ")],
    ["brake", brake === null ? "none" : "on"],
    ["digest", digest],
  ]);
}
