import type { RuleBody } from "@/lib/intake/admission/admission.pure";
import type { AdmissionRule, Prisma } from "@/lib/platform/database/generated/client";

type Client = Prisma.TransactionClient;
type RuleColumns = { name: string; source: string | null; enabled: boolean; body: RuleBody };
/** Who stores a version, when and why. */
type Edit = { actor: string; atMs: number; reason: string };

/** Makes every batch of arrivals read the rules anew. Two changes of the rules never run at the same time. */
export async function advanceRevision(client: Client): Promise<void> {
  await client.admissionRevision.update({ where: { id: 1 }, data: { revision: { increment: 1 } } });
}

/** Stores a rule behind the others. */
export async function insertRule(client: Client, id: string, rule: RuleColumns, edit: Edit): Promise<AdmissionRule> {
  const { actor, atMs } = edit;
  const at = new Date(atMs);
  const stored = await client.admissionRule.create({
    data: {
      ...{ ...rule, id, body: json(rule.body), version: 1, position: (await client.admissionRule.count()) + 1 },
      ...{ createdBy: actor, createdAt: at, updatedBy: actor, updatedAt: at },
    },
  });
  await insertVersion(client, stored, edit);
  return stored;
}

/** Writes a rule's columns; `edited`: they are a new version of it. */
export async function updateRule(
  client: Client,
  { id, version }: AdmissionRule,
  { edited, ...rule }: RuleColumns & { edited: boolean },
  edit: Edit,
): Promise<AdmissionRule> {
  const stored = await client.admissionRule.update({
    where: { id },
    data: {
      ...{ ...rule, body: json(rule.body), version: version + (edited ? 1 : 0) },
      ...{ updatedBy: edit.actor, updatedAt: new Date(edit.atMs) },
    },
  });
  if (edited) await insertVersion(client, stored, edit);
  return stored;
}

async function insertVersion(client: Client, rule: AdmissionRule, { actor, atMs, reason }: Edit): Promise<void> {
  const { id, version, name, source, body } = rule;
  await client.admissionRuleVersion.create({
    data: {
      ...{ ruleId: id, version, name, source, body: body as Prisma.InputJsonValue },
      ...{ reason, createdBy: actor, createdAt: new Date(atMs) },
    },
  });
}

/** Without undefined members. */
function json(body: RuleBody): Prisma.InputJsonValue {
  return JSON.parse(JSON.stringify(body));
}
