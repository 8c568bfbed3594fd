"use client";

import Link from "next/link";
import { useSearchParams } from "next/navigation";
import { useState } from "react";
import { LongText } from "@/components/redrive/long-text";
import { ResourcePage } from "@/components/resource/resource-page";
import { Button, NextPageButton } from "@/components/ui/button";
import { DialogButton } from "@/components/ui/dialog-button";
import { lazily } from "@/components/ui/lazily";
import { itemsOf, ListState } from "@/components/ui/loaded";
import { Panel } from "@/components/ui/panel";
import { ShortId } from "@/components/ui/short-id";
import { TimeAgo } from "@/components/ui/time-ago";
import { useControls } from "@/lib/order/controls/controls.browser";
import type { ControlOut } from "@/lib/order/controls/controls.shapes";
import { useNow } from "@/lib/platform/browser/clock-zone.browser";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { ControlBadge, ControlUntil } from "./control-badge";
import { LimitsPanel } from "./limits-panel";
import { controlEnd, isOfEverySource, SCOPE_LABEL, scopeFilter, scopeLimits, scopeOf } from "./scope-words";

const ControlDialog = lazily(() => import("./control-dialog"), "ControlDialog");
const LiftManyDialog = lazily(() => import("./lift-many-dialog"), "LiftManyDialog");
const LiftDialog = lazily(() => import("./lift-dialog"), "LiftDialog");

/** The controls in force, each with its number of events; below them the limits and the ended controls. */
export function ControlsPage() {
  const live = useControls("live");
  // The page of a redrive links here with its id, to lift the blacklists it caused.
  const ofRedrive = useSearchParams().get("redrive");
  const [liftsMany, setLiftsMany] = useState(ofRedrive !== null);
  return (
    <>
      <ResourcePage
        title="Controls"
        meta={({ length }) => `${formatNumber(length)}${live.hasNextPage ? "+" : ""} in force`}
        actions={
          itemsOf(live).length > 1 ? (
            <Button needs="control" onClick={() => setLiftsMany(true)}>
              Lift several…
            </Button>
          ) : null
        }
        needs="control"
        add="Add a control…"
        read={live}
        loading={{ rows: 4, columns: ["w-28", "flex-1", "w-24", "w-24"] }}
        empty={{
          title: "No control is in force",
          text: "A blacklist blocks redrives, a cooldown delays them, and a whitelist overrides cooldowns and automatic blacklists. Parkade blacklists an aggregate that keeps failing, according to the limits below.",
        }}
        dialog={(_, onClose) => <ControlDialog onClose={onClose} />}
      >
        {(items) => (
          <ul className="grid grid-cols-[minmax(0,1fr)] gap-2 px-3">
            {items.map((control) => (
              <Control key={control.id} control={control} />
            ))}
          </ul>
        )}
      </ResourcePage>
      <NextPageButton read={live}>More controls</NextPageButton>
      {/* Nobody knows the height of the list before it is read: what follows waits for it, and does not move. */}
      {live.isPending ? null : (
        <>
          <Ended />
          <div className="px-3 pt-3 pb-3">
            <LimitsPanel />
          </div>
        </>
      )}
      {liftsMany ? <LiftManyDialog redriveId={ofRedrive} onClose={() => setLiftsMany(false)} /> : null}
    </>
  );
}

function Scope({ control }: { control: ControlOut }) {
  const scope = scopeOf(control.scope);
  if (!scope) return null;
  return (
    <span className="flex max-w-full min-w-0 items-baseline gap-1.5">
      <span className="shrink-0 text-muted">{SCOPE_LABEL[scope.name]}</span>
      <ShortId id={scope.value} label={SCOPE_LABEL[scope.name]} head={36} tail={8} />
      <span className="text-muted">{scopeLimits(control.scope)}</span>
    </span>
  );
}

function Matches({ control }: { control: ControlOut }) {
  const scope = scopeOf(control.scope);
  if (control.catches === null || !scope) return <span className="text-muted">number of matches not known</span>;
  if (control.catches === 0) return <span className="text-muted">matches nothing now</span>;
  return (
    <Link href={eventsHref(scopeFilter(control.scope))} className="touch text-accent hover:underline">
      matches {plural(control.catches, "event")}
    </Link>
  );
}

function Control({ control }: { control: ControlOut }) {
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] gap-1 rounded-lg border border-line bg-surface px-3 py-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <ControlBadge kind={control.kind} />
        <Scope control={control} />
        <Matches control={control} />
        <span className="ml-auto text-muted">
          <ControlUntil expiresAt={control.expiresAt} />
        </span>
        <DialogButton
          needs="control"
          everySource={isOfEverySource(control.scope)}
          size="sm"
          dialog={(onClose) => <LiftDialog control={control} onClose={onClose} />}
        >
          Lift…
        </DialogButton>
      </div>
      <Why control={control} />
    </li>
  );
}

function Why({ control }: { control: ControlOut }) {
  return (
    <>
      <LongText text={control.reason} />
      <p className="text-sm text-muted wrap-anywhere">
        {control.origin === "automatic" ? "by Parkade" : `by ${control.createdBy}`} · <TimeAgo at={control.createdAt} />{" "}
        ·{" "}
        <Link
          href={`/audit?subjectKind=control&subjectId=${control.id}`}
          className="touch inline-block min-h-6 hover:text-ink hover:underline"
        >
          audit
        </Link>
      </p>
    </>
  );
}

/** Lifted and expired controls. They are read only after a click. */
function Ended() {
  const [open, setOpen] = useState(false);
  return (
    <div className="p-3">
      <Button variant="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide" : "Show"} lifted and expired controls
      </Button>
      {open ? <EndedList /> : null}
    </div>
  );
}

function EndedList() {
  const ended = useControls("ended");
  const now = useNow();
  const items = itemsOf(ended);
  return (
    <Panel className="mt-2">
      <ListState
        read={ended}
        loading={{ rows: 3, columns: ["w-28", "flex-1", "w-40"] }}
        none={<p className="px-3 py-4 text-muted">None has ended in the last 90 days.</p>}
      />
      <ul>
        {items.map((control) => (
          <li
            key={control.id}
            className="grid grid-cols-[minmax(0,1fr)] gap-1 border-line px-3 py-2 not-first:border-t"
          >
            <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
              <ControlBadge kind={control.kind} quiet />
              <Scope control={control} />
              <span className="ml-auto text-muted">
                {controlEnd(control, now) === "lifted" ? (
                  <>
                    lifted <TimeAgo at={control.liftedAt} /> by {control.liftedBy}
                  </>
                ) : (
                  <>
                    expired <TimeAgo at={control.expiresAt} />
                  </>
                )}
              </span>
            </div>
            <Why control={control} />
            {control.liftReason ? (
              <p className="wrap-anywhere">
                <span className="text-muted">lifted because: </span>
                {control.liftReason}
              </p>
            ) : null}
          </li>
        ))}
      </ul>
      <NextPageButton read={ended}>Older</NextPageButton>
    </Panel>
  );
}
