import type { AlertFacts } from "@/lib/observe/alerts/facts/alert-facts.pure";
import { AGE } from "@/lib/observe/alerts/kinds/age.pure";
import type { Finding, Kind, WatchOf } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { AUDIT } from "@/lib/observe/alerts/kinds/audit.pure";
import { BREAKER } from "@/lib/observe/alerts/kinds/breaker.pure";
import { CONTRACT } from "@/lib/observe/alerts/kinds/contract.pure";
import { GROUP_BACK } from "@/lib/observe/alerts/kinds/group-back.pure";
import { HEALING } from "@/lib/observe/alerts/kinds/healing.pure";
import { INFLOW } from "@/lib/observe/alerts/kinds/inflow.pure";
import { NEW_GROUP } from "@/lib/observe/alerts/kinds/new-group.pure";
import { REDRIVE_STILL } from "@/lib/observe/alerts/kinds/redrive-still.pure";
import type { Settings } from "@/lib/observe/alerts/kinds/settings.pure";
import { SILENCE } from "@/lib/observe/alerts/kinds/silence.pure";
import { SIZE } from "@/lib/observe/alerts/kinds/size.pure";
import { SOURCE } from "@/lib/observe/alerts/kinds/source.pure";
import { STORAGE } from "@/lib/observe/alerts/kinds/storage.pure";
import { SUCCESS } from "@/lib/observe/alerts/kinds/success.pure";

/**
 * What a rule of alerts watches. A kind is one file and one line here; its API, its form, its words and its runbook follow. It
 * judges facts that an evaluation reads for all rules.
 */
const KINDS = [
  SIZE,
  INFLOW,
  SILENCE,
  AGE,
  NEW_GROUP,
  GROUP_BACK,
  SUCCESS,
  BREAKER,
  HEALING,
  SOURCE,
  CONTRACT,
  STORAGE,
  AUDIT,
  REDRIVE_STILL,
] as const;

type Listed = (typeof KINDS)[number];
export type AlertKind = Listed["kind"];
export type AlertWatch = { [Name in AlertKind]: WatchOf<Name, Extract<Listed, { kind: Name }>["settings"]> }[AlertKind];
type AnyKind = Kind<AlertKind, Settings, AlertWatch, unknown, Listed["facts"]>;

/** In the order of the form. */
export const ALERT_KINDS: readonly AlertKind[] = KINDS.map(({ kind }) => kind);

// A rule is read by its own kind, so what its functions get is of the kind.
const BY_NAME = new Map(KINDS.map((kind) => [kind.kind, kind as unknown as AnyKind]));

export const alertKindOf = (kind: AlertKind): AnyKind => BY_NAME.get(kind)!;

/** `fault`: why the rule cannot be judged now. */
export type Findings = { findings: Finding[] } | { fault: string };

/** `firing`: keys of the rule's firing alerts. */
export function judge(watch: AlertWatch, facts: AlertFacts, firing: ReadonlySet<string>): Findings {
  const kind = alertKindOf(watch.kind);
  const part = facts[kind.facts];
  if (part === undefined) return { fault: "the facts it needs were not read" };
  return "fault" in part ? part : { findings: kind.judge(watch, part.rows, { firing, nowMs: facts.nowMs }) };
}
