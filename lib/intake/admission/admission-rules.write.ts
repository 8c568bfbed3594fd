import type { RuleBody } from "@/lib/intake/admission/admission.pure";
import type { AdmissionRule, Prisma } from "@/lib/platform/database/generated/client";
import { type Client, newRuleColumns, storedBody } from "@/lib/rules/rules.write";

type RuleColumns = { name: string; source: string | null; enabled: boolean; body: RuleBody };
/** Who stores a version, when and why. */
type Edit = { actor: string; atMs: number; reason: string };

/** Stores a rule behind the others. */
export async function insertRule(client: Client, id: string, rule: RuleColumns, edit: Edit): Promise<AdmissionRule> {
  const columns = newRuleColumns(await client.admissionRule.count(), edit);
  const stored = await client.admissionRule.create({
    data: { ...rule, ...columns, id, body: storedBody(rule.body) },
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
      ...rule,
      body: storedBody(rule.body),
      version: version + (edited ? 1 : 0),
      updatedBy: edit.actor,
      updatedAt: new Date(edit.atMs),
    },
  });
  if (edited) await insertVersion(client, stored, edit);
  return stored;
}

async function insertVersion(client: Client, rule: AdmissionRule, { actor, atMs, reason }: Edit): Promise<void> {
  const { id, version, name, source, body } = rule;
  await client.admissionRuleVersion.create({
    data: {
      ruleId: id,
      version,
      name,
      source,
      body: body as Prisma.InputJsonValue,
      reason,
      createdBy: actor,
      createdAt: new Date(atMs),
    },
  });
}
