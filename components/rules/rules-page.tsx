"use client";

import type { ComponentType, ReactNode } from "react";
import { ResourcePage } from "@/components/resource/resource-page";
import { itemsOf, type ListRead } from "@/components/ui/loaded";
import type { Needs } from "@/lib/guard/viewer/viewer.pure";
import { plural } from "@/lib/platform/plain/format.pure";
import type { StoredRuleOut } from "@/lib/rules/rule.shapes";
import type { RuleCardProps } from "./rule-card";

/**
 * The page of one kind of rules: a card for each rule in their order, and the dialog that writes one. `intro` says what they
 * are for while there is none, `order` what their order means.
 */
export function RulesPage<Rule extends StoredRuleOut>(
  props: Record<"title" | "noun" | "intro" | "order", string> & {
    /** What whoever changes one must be allowed. */
    needs: Needs;
    rules: ListRead<Rule>;
    /** Which rules are shown, and a note above them that says so; null = all. */
    shows: { rule: (rule: Rule) => boolean; note: ReactNode } | null;
    Card: ComponentType<RuleCardProps<Rule>>;
    Dialog: ComponentType<{ rule: Rule | null; onClose: () => void }>;
    children?: ReactNode;
  },
) {
  const { title, noun, intro, order, needs, rules, shows, Card, Dialog, children } = props;
  const shown = itemsOf(rules).filter(shows?.rule ?? (() => true));
  return (
    <>
      <ResourcePage
        title={title}
        meta={(items) => `${plural(items.length, "rule")}, ${items.filter(({ enabled }) => enabled).length} on`}
        needs={needs}
        add={`New ${noun}…`}
        read={rules}
        loading={{ rows: 4, columns: ["w-16", "flex-1", "w-24"] }}
        empty={shows === null ? { title: `No ${noun}s yet`, text: intro } : null}
        above={
          <>
            {rules.data ? shows?.note : null}
            {shown.length > 0 && order ? <p className="px-4 pb-2 text-muted">{order}</p> : null}
          </>
        }
        dialog={(rule, onClose) => <Dialog rule={rule} onClose={onClose} />}
      >
        {(items, edit) => (
          <ol
            className="grid grid-cols-[minmax(0,1fr)] gap-2 px-3"
            aria-label={`${noun[0]!.toUpperCase()}${noun.slice(1)}s`}
          >
            {shown.map((rule) => (
              <Card
                key={rule.id}
                rule={rule}
                above={items[items.indexOf(rule) - 1] ?? null}
                below={items[items.indexOf(rule) + 1] ?? null}
                onEdit={() => edit(rule)}
              />
            ))}
          </ol>
        )}
      </ResourcePage>
      {children}
    </>
  );
}
