"use client";

import { type ButtonProps, LinkButton } from "@/components/ui/button";
import { ConfirmButton, DialogButton } from "@/components/ui/dialog-button";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Panel } from "@/components/ui/panel";
import { PlainSecrets } from "@/components/ui/plain-secrets";
import { formatRate } from "@/lib/platform/plain/format.pure";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import type { SourceOut, TargetOut } from "@/lib/sources/sources.shapes";
import { useRemoveTarget, useTargets } from "@/lib/sources/targets/targets.browser";

const NamedTargetDialog = lazily(() => import("./named-target-dialog"), "NamedTargetDialog");

const MAY = { needs: ["change-source", "change-target"], size: "sm" } satisfies ButtonProps;

/** Where a redrive of the source's events may go: its two lanes, and the targets it names. */
export function SendsPanel({ source, kind }: { source: SourceOut; kind: KindOut | null }) {
  const targets = useTargets();
  const remove = useRemoveTarget();
  const own = targets.data?.items.filter((target) => target.source === source.name) ?? [];
  const named = own.filter(({ lane }) => lane === null);
  const order = kind?.capabilities.order;
  const dialogOf = (target?: TargetOut) => (onClose: () => void) =>
    kind && <NamedTargetDialog source={source} kind={kind} target={target} onClose={onClose} />;
  return (
    <Panel
      title="Where redrives go"
      actions={
        <LinkButton size="sm" variant="ghost" href="/targets">
          Targets
        </LinkButton>
      }
      bodyClassName="grid grid-cols-[minmax(0,1fr)] gap-3 p-3"
    >
      <ReadError read={targets} stale={own.length > 0} />
      {own.length === 0 ? <p className="text-muted">{targets.isPending ? "…" : "The source has no target."}</p> : null}
      <ul aria-label="Targets" className="grid grid-cols-[minmax(0,1fr)] gap-2">
        {[...own.filter(({ lane }) => lane !== null), ...named].map((target) => (
          <li key={target.id} className="grid grid-cols-[minmax(0,1fr)] gap-0.5">
            <p className="wrap-anywhere text-muted">
              {target.lane === null ? (
                <span className="font-mono text-sm text-ink">{target.name}</span>
              ) : (
                `${target.lane} lane`
              )}
              {target.ratePerSecond === null ? null : `, ${formatRate(target.ratePerSecond)}`}
              {target.breakerForce === "open" ? <span className="text-danger">, held open</span> : null}
            </p>
            <p className="line-clamp-4 font-mono text-sm leading-5 wrap-anywhere">
              {target.address ?? <span className="text-warning">no destination: redrives are refused</span>}
            </p>
            <PlainSecrets places={target.plainSecrets} />
            {target.lane === null ? (
              <div className="flex gap-1 py-1">
                <DialogButton {...MAY} disabled={kind === null} dialog={dialogOf(target)}>
                  <span className="sr-only">{target.name}: </span>Edit…
                </DialogButton>
                <ConfirmButton
                  {...MAY}
                  variant="ghost"
                  // The server refuses it while a redrive or a fallback uses the target, and names which.
                  confirm={{
                    title: <span className="wrap-anywhere">Remove {target.name}?</span>,
                    description:
                      "Its rate and breaker are deleted; the history of events keeps its name. Messages that were sent there are not affected.",
                    size: "sm",
                    verb: "Remove the target",
                    variant: "danger",
                    keep: "Keep the target",
                    onSubmit: async (reason) => {
                      await remove.mutateAsync({ id: target.name, reason });
                      return { title: `Removed ${target.name}` };
                    },
                  }}
                >
                  <span className="sr-only">{target.name}: </span>Remove…
                </ConfirmButton>
              </div>
            ) : null}
          </li>
        ))}
      </ul>
      {kind && kind.destination.length > 0 ? (
        <DialogButton {...MAY} className="justify-self-start" dialog={dialogOf()}>
          Add a target…
        </DialogButton>
      ) : null}
      {kind ? (
        <p className="text-sm text-faint">
          {order !== null
            ? `Its broker keeps the order ${order}.`
            : kind.capabilities.reads
              ? "Its broker keeps no order."
              : "Events of an aggregate are sent one after the other."}
        </p>
      ) : null}
    </Panel>
  );
}
