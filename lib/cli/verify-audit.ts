import { type Call, patiently, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { factsText } from "@/lib/cli/table";
import type { AuditVerificationOut } from "@/lib/guard/audit-chain/verifications.shapes";
import { formatNumber, plural, visible } from "@/lib/platform/plain/format.pure";

const POLL_MS = 500;
const PATH = "api/v1/audit-verifications";

export async function verifyAudit(call: Call): Promise<number> {
  const { api, terminal, clock, signal } = call;
  let check = await api.change<AuditVerificationOut>(PATH, { method: "POST", body: {} });
  while (check.finishedAt === null) {
    await clock.sleep(POLL_MS, signal);
    check = await patiently(call, () => api.get<AuditVerificationOut>(`${PATH}/${check.id}`));
    if (check.finishedAt === null) terminal.progress(progressOf(check));
  }
  const done = check;
  await printAnswer(call, done, () => text(done));
  if (done.fault !== null) terminal.say(visible(done.fault));
  for (const { code, entryId, seq, detail } of done.findings) {
    const place = [entryId && `entry ${entryId}`, seq !== null && `number ${seq}`].filter(Boolean).join(", ");
    terminal.say(visible(`${code}: ${place}: ${detail}`));
  }
  const further = (done.findingsTotal ?? 0) - done.findings.length;
  if (further > 0) terminal.say(`and ${plural(further, "further finding")}`);
  return done.good === true && done.fault === null ? EXIT.done : EXIT.refused;
}

function progressOf({ seals }: AuditVerificationOut): string {
  // The same fields while no worker has begun and while one compares anchors, which comes first.
  if (seals === 0) return "The check waits for a worker, or a worker compares anchors";
  return `${plural(seals, "seal")} checked so far`;
}

function text(check: AuditVerificationOut): string {
  const { good, seals, entries, anchors, redactions, appendOnly, findingsTotal } = check;
  const number = (value: number | null) => (value === null ? null : formatNumber(value));
  // Where entries are gone the difference would count their seals, too.
  const others = good && entries !== null ? seals - entries : 0;
  return factsText([
    ["result", good === null ? "could not be checked" : good ? "good" : "bad"],
    ["entries", number(entries)],
    [
      "seals",
      others > 0 ? `${number(seals)}, ${number(others)} of them for a later change of an entry` : number(seals),
    ],
    ["anchors", number(anchors)],
    ["changed by a forget", number(redactions)],
    ["findings", number(findingsTotal)],
    ["the product's role may change the audit", appendOnly === null ? null : appendOnly ? "no" : "yes"],
  ]);
}
