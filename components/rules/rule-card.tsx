"use client";

import { ArrowDown, ArrowUp } from "lucide-react";
import Link from "next/link";
import type { ReactNode } from "react";
import { Button, IconButton } from "@/components/ui/button";
import { ConfirmButton, DialogButton } from "@/components/ui/dialog-button";
import { Shape } from "@/components/ui/shape";
import { TimeAgo } from "@/components/ui/time-ago";
import { failureToast } from "@/components/ui/toast";
import type { Action, Needs } from "@/lib/guard/viewer/viewer.pure";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import type { StoredRuleOut } from "@/lib/rules/rule.shapes";

const LOOKS = {
  ON: { shape: "disc", colour: "text-ok" },
  OFF: { shape: "ring", colour: "text-ignored" },
  FAULT: { shape: "triangle", colour: "text-danger" },
  STOPPED: { shape: "triangle", colour: "text-danger" },
} as const;

export type RuleCardProps<Rule> = { rule: Rule; above: Rule | null; below: Rule | null; onEdit: () => void };

/** Of the hooks of a kind: what moves and deletes a rule. */
type RuleHooks = {
  usePatch(id: string): {
    isPending: boolean;
    mutate(move: { position: number; reason: string }, on: { onError: (error: ApiError) => void }): void;
  };
  useRemove(): { mutateAsync(rule: { id: string; reason: string }): Promise<void> };
};

/** The card of a rule of either kind: its state, its name, its actions with their dialogs, and what the kind shows of it. */
export function RuleCard(
  props: RuleCardProps<StoredRuleOut> & {
    needs: Needs;
    /** What whoever deletes it must be allowed. */
    needsToDelete: Action;
    everySource: boolean;
    state: keyof typeof LOOKS;
    /** Beside the name. */
    aside?: ReactNode;
    /** Why it cannot be edited as it is. */
    locked?: string | undefined;
    /** What becomes of its effects when it is deleted. */
    afterDeletion: string;
    hooks: RuleHooks;
    switchDialog: (onClose: () => void) => ReactNode;
    children: ReactNode;
  },
) {
  const { rule, above, below, onEdit, needs, needsToDelete, everySource, state, aside, locked, hooks, children } =
    props;
  const may = { needs, everySource, size: "sm" } as const;
  const { id, name } = rule;
  const moving = hooks.usePatch(id);
  const remove = hooks.useRemove();
  const move = (to: StoredRuleOut | null, words: string) => {
    if (to === null || moving.isPending) return;
    const moved = { position: to.position, reason: `moved ${words} ${to.name}`.slice(0, 2_000) };
    moving.mutate(moved, { onError: (error) => failureToast(`${name} was not moved`, error) });
  };
  const { shape, colour } = LOOKS[state];
  return (
    <li
      aria-label={name}
      className="grid grid-cols-[minmax(0,1fr)] gap-1 rounded-lg border border-line bg-surface px-3 py-2"
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className={`inline-flex shrink-0 items-center gap-1.5 font-mono text-sm ${colour}`}>
          <Shape name={shape} />
          {state}
        </span>
        <h2 className="min-w-0 font-medium wrap-anywhere">{name}</h2>
        {aside}
        <div className="ml-auto flex flex-wrap items-center gap-1">
          <IconButton {...may} label={`Move ${name} up`} disabled={above === null} onClick={() => move(above, "above")}>
            <ArrowUp size={14} aria-hidden />
          </IconButton>
          <IconButton
            {...may}
            label={`Move ${name} down`}
            disabled={below === null}
            onClick={() => move(below, "below")}
          >
            <ArrowDown size={14} aria-hidden />
          </IconButton>
          <DialogButton {...may} dialog={props.switchDialog}>
            {rule.enabled ? "Switch off…" : "Switch on…"}
          </DialogButton>
          <Button {...may} onClick={onEdit} disabled={locked !== undefined} data-tip={locked}>
            Edit…
          </Button>
          <ConfirmButton
            {...may}
            needs={needsToDelete}
            confirm={{
              title: `Delete ${name}?`,
              description: props.afterDeletion,
              size: "sm",
              verb: "Delete",
              variant: "danger",
              keep: "Keep the rule",
              onSubmit: async (reason) => {
                await remove.mutateAsync({ id, reason });
                return { title: `Deleted ${name}`, tone: "success" };
              },
            }}
          >
            Delete…
          </ConfirmButton>
        </div>
      </div>
      {children}
    </li>
  );
}

/** Who wrote this version of a rule, with the way to its audit. */
export function RuleVersion({ rule, subject }: { rule: StoredRuleOut; subject: "rule" | "redrive-rule" }) {
  return (
    <span>
      version {rule.version} by {rule.updatedBy} · <TimeAgo at={rule.updatedAt} /> ·{" "}
      <Link
        href={`/audit?subjectKind=${subject}&subjectId=${rule.id}`}
        prefetch={false}
        className="inline-block min-h-6 hover:text-ink hover:underline"
      >
        audit
      </Link>
    </span>
  );
}
