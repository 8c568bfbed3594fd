"use client";

import Link from "next/link";
import { useSearchParams } from "next/navigation";
import { RulesPage } from "@/components/rules/rules-page";
import { LinkButton } from "@/components/ui/button";
import { lazily } from "@/components/ui/lazily";
import { admissionRules } from "@/lib/intake/admission/admission.browser";
import type { RuleList, RuleOut } from "@/lib/intake/admission/admission.shapes";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { ADMISSION_MARKS } from "@/lib/states/admission-mark.pure";
import { MARK_WORDS } from "./mark-words";
import { AdmissionRuleCard } from "./rule-card";
import { countWords } from "./rule-words";

const RuleDialog = lazily(() => import("./rule-dialog"), "AdmissionRuleDialog");

/** The rules that are applied to each message before it is stored, in their order. */
export function AdmissionPage() {
  const rules = admissionRules.useRules();
  const address = useSearchParams();
  const only = address.get("rule");
  const source = only === null ? address.get("source") : null;
  const isShown = (rule: RuleOut) =>
    only === null ? rule.source === null || rule.source === source : rule.id === only;
  const none = !rules.data?.items.some(isShown);
  return (
    <RulesPage
      needs="change-admission"
      title="Admission"
      noun="rule"
      rules={rules}
      shows={
        only === null && source === null
          ? null
          : { rule: isShown, note: <Selected only={only} source={source} none={none} /> }
      }
      intro="A rule examines each message before it is stored. It can set the error code or the group, park the message early because its failure is permanent, require confirmation before a redrive, or drop known noise."
      order={
        only === null
          ? "Rules are applied in this order. Each one sees the message as the rules above changed it; a drop ends the evaluation."
          : ""
      }
      Card={AdmissionRuleCard}
      Dialog={RuleDialog}
    >
      {only === null && rules.data ? <BuiltIn superseded={rules.data.superseded} /> : null}
    </RulesPage>
  );
}

/** Which rules the page shows: one, or those of a source. */
function Selected({ only, source, none }: { only: string | null; source: string | null; none: boolean }) {
  return (
    <p className="flex flex-wrap items-center gap-x-3 px-4 pb-2 text-muted">
      {source !== null ? (
        `${none ? "No rule applies" : "The rules that apply"} to the source ${source}.`
      ) : none ? (
        <span>
          This rule no longer exists, or it belongs to a source that you cannot see.{" "}
          <Link
            href={`/audit?subjectKind=rule&subjectId=${encodeURIComponent(only ?? "")}`}
            className="text-accent underline"
          >
            Its audit log entries
          </Link>
        </span>
      ) : (
        "Showing one rule."
      )}
      <LinkButton size="sm" href="/admission">
        Show all rules
      </LinkButton>
    </p>
  );
}

function BuiltIn({ superseded }: Pick<RuleList, "superseded">) {
  const counted = countWords("matched", superseded.lastHour, superseded.lastDay);
  return (
    <section aria-label="Always" className="px-4 py-4">
      <h2 className="text-sm font-medium text-faint">Always</h2>
      <p>
        A version that arrives after a newer one of its aggregate was processed is marked as an older version, and the
        dry run refuses it. <span className="text-muted">{counted ?? "None in 24 hours"}.</span>
      </p>
      <p className="pt-2">
        Marked events:{" "}
        {ADMISSION_MARKS.map((mark, index) => (
          <span key={mark}>
            {index > 0 ? " · " : null}
            <Link href={eventsHref({ admission: [mark] })} prefetch={false} className="text-accent underline">
              {MARK_WORDS[mark]}
            </Link>
          </span>
        ))}
      </p>
    </section>
  );
}
