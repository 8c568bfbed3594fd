import { type Action, assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { AdmissionRule } from "@/lib/platform/database/generated/client";
import { takingName } from "@/lib/platform/database/name-taken";
import type { LowRateDeps } from "@/lib/platform/low-rate-deps";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { advanceRevision, type Client, deleteRule, moveRule, type RuleTables } from "@/lib/rules/rules.write";

/**
 * Changes of versioned, ordered rules: admission rules and redrive rules. Each change is one transaction with a new revision
 * of all rules of its kind and an audit entry.
 */
export type RuleKind<Rule extends StoredRule> = RuleTables & {
  /** Of its audit entries; their actions begin with it. */
  subject: "rule" | "redrive-rule";
  action: Action;
  find(client: Client, id: string): Promise<Rule | null>;
  unknown(id: string): DomainError;
  isSeenBy(viewer: Viewer, rule: Rule): boolean;
  sourcesOf(rule: Rule): "all" | readonly string[];
};

type StoredRule = Pick<AdmissionRule, "name" | "position" | "enabled" | "version" | "body"> & {
  source?: string | null;
};
/** Who asks for what. A change that names a version is refused when the rule has another one. */
type Asked<Change = { name?: string | undefined; reason: string }> = { id: string; change: Change; viewer: Viewer };
type AskedChange = Asked<{ name?: string; version?: number; position?: number; reason: string }>;
type Edit = { actor: string; atMs: number; reason: string };
/** `tried`: what the audit keeps of the rule's trial. */
type Stored<Rule> = { rule: Rule; tried: object };

/** Throws DomainError `name-taken`. */
export function storeRule<Rule extends StoredRule>(
  deps: LowRateDeps,
  kind: RuleKind<Rule>,
  asked: Asked,
  insert: (client: Client, edit: Edit) => Promise<Stored<Rule>>,
): Promise<void> {
  return inOneChange(deps, kind, asked, async (client, edit) => {
    const { rule, tried } = await insert(client, edit);
    return { action: "created", before: null, after: { ...shown(rule), ...tried } };
  });
}

/** Throws DomainError `name-taken`, `illegal-transition` (another version), the kind's error of an unknown rule. */
export function changeRule<Rule extends StoredRule>(
  deps: LowRateDeps,
  kind: RuleKind<Rule>,
  asked: AskedChange,
  work: (
    client: Client,
    stored: Rule,
    edit: Edit,
  ) => Promise<Stored<Rule> & { action: "changed" | "enabled" | "disabled" }>,
): Promise<void> {
  const { version, position } = asked.change;
  return inOneChange(deps, kind, asked, async (client, edit) => {
    const stored = await changeable(kind, client, asked);
    assertVersion(stored, version);
    const { action, rule, tried } = await work(client, stored, edit);
    const place = position === undefined ? stored.position : await moveRule(client, kind.table, asked.id, position);
    return { action, before: shown(stored), after: { ...shown({ ...rule, position: place }), ...tried } };
  });
}

/** The use case that deletes a rule. It throws the kind's error of an unknown rule. */
export function deletionOf<Rule extends StoredRule>(kind: RuleKind<Rule>) {
  return async (deps: LowRateDeps, { id, reason }: { id: string; reason: string }, viewer: Viewer): Promise<void> => {
    assertMay(viewer, kind.action);
    const asked = { id, change: { reason }, viewer };
    await inOneChange(deps, kind, asked, async (client) => {
      const stored = await changeable(kind, client, asked);
      await deleteRule(client, kind.table, id);
      return { action: "deleted", before: shown(stored), after: null };
    });
  };
}

/** The rule, when the viewer may change it. Throws the kind's error of an unknown rule, DomainError `forbidden`. */
export async function changeable<Rule extends StoredRule>(
  kind: RuleKind<Rule>,
  client: Client,
  { id, viewer }: Pick<Asked, "id" | "viewer">,
): Promise<Rule> {
  const stored = await kind.find(client, id);
  if (!stored || !kind.isSeenBy(viewer, stored)) throw kind.unknown(id);
  assertMay(viewer, kind.action, kind.sourcesOf(stored));
  return stored;
}

function assertVersion({ version }: StoredRule, asked: number | undefined): void {
  if (asked === undefined || asked === version) return;
  throw new DomainError("illegal-transition", `The rule has version ${version} now: read it again`, {
    fields: [{ field: "version", detail: `is ${version} by now` }],
  });
}

/** As the audit shows it. */
function shown({ name, source, position, enabled, version, body }: StoredRule): object {
  return { name, ...(source === undefined ? {} : { source }), position, enabled, version, ...(body as object) };
}

async function inOneChange(
  { lowRate, clock }: LowRateDeps,
  { subject, revision }: Pick<RuleKind<StoredRule>, "subject" | "revision">,
  { id, change: { name = "", reason }, viewer }: Asked,
  work: (client: Client, edit: Edit) => Promise<{ action: string; before: object | null; after: object | null }>,
): Promise<void> {
  const edit = { actor: viewer.name, atMs: clock.wallMs(), reason };
  await takingName("rule", name, () =>
    lowRate.write(async ({ prisma, audit }) => {
      await advanceRevision(prisma, revision);
      const { action, ...states } = await work(prisma, edit);
      await audit({
        ...edit,
        ...states,
        action: `${subject}.${action}`,
        subjectKind: subject,
        subjectId: id,
        count: 1,
      });
    }),
  );
}
