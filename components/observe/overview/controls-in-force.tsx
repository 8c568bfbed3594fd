"use client";

import Link from "next/link";
import { ControlBadge, ControlUntil } from "@/components/order/controls/control-badge";
import { SCOPE_LABEL, scopeLimits, scopeOf } from "@/components/order/controls/scope-words";
import { ReadError } from "@/components/ui/error-panel";
import { Panel } from "@/components/ui/panel";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useControls } from "@/lib/order/controls/controls.browser";
import type { ControlOut } from "@/lib/order/controls/controls.shapes";
import { formatNumber } from "@/lib/platform/plain/format.pure";

const SHOWN = 5;

function Scope({ scope }: Pick<ControlOut, "scope">) {
  const named = scopeOf(scope);
  if (!named) return null;
  return (
    <span className="min-w-0 flex-1 truncate text-sm">
      <span className="text-muted">{SCOPE_LABEL[named.name]}</span> <span className="font-mono">{named.value}</span>{" "}
      <span className="text-muted">{scopeLimits(scope)}</span>
    </span>
  );
}

export function ControlsInForce() {
  const controls = useControls("live");
  const items = controls.data?.pages[0]?.items ?? [];
  return (
    <Panel
      title="Controls in force"
      actions={
        <Link href="/controls" className="px-1 text-sm text-accent hover:underline">
          {items.length > SHOWN ? `${formatNumber(items.length - SHOWN)} more` : "all"}
        </Link>
      }
    >
      <ReadError read={controls} stale={items.length > 0} />
      {controls.isPending ? <SkeletonRows rows={2} columns={["flex-1", "w-12"]} /> : null}
      {controls.isSuccess && items.length === 0 ? <p className="px-3 pb-3 text-muted">None in force.</p> : null}
      <ul className="pb-1">
        {items.slice(0, SHOWN).map((control) => (
          <li key={control.id}>
            <Link
              href="/controls"
              className="flex items-center gap-2 px-3 py-1 hover:bg-hover"
              data-tip={`${control.reason.slice(0, 200)}\nby ${control.createdBy}`}
            >
              <ControlBadge kind={control.kind} />
              <Scope scope={control.scope} />
              <span className="text-sm whitespace-nowrap text-muted">
                {control.catches === null ? "" : `${formatNumber(control.catches)} · `}
                <ControlUntil expiresAt={control.expiresAt} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
