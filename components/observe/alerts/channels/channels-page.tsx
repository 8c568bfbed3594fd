"use client";

import { useState } from "react";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { PlainSecrets } from "@/components/ui/plain-secrets";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SkeletonRows } from "@/components/ui/skeleton";
import { TimeAgo } from "@/components/ui/time-ago";
import { failureToast, showToast } from "@/components/ui/toast";
import {
  useChannels,
  useDeleteChannel,
  useEndMaintenance,
  useMaintenances,
  useTestChannel,
} from "@/lib/observe/channels/channels.browser";
import type { ChannelOut } from "@/lib/observe/channels/channels.shapes";
import { CHANNEL_NAMES } from "@/lib/observe/channels/notices.pure";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { AlertsNav } from "../alerts-nav";

const ChannelDialog = lazily(() => import("./channel-dialog"), "ChannelDialog");
const MaintenanceDialog = lazily(() => import("./maintenance-dialog"), "MaintenanceDialog");
const Deliveries = lazily(() => import("./deliveries"), "Deliveries");

export function ChannelsPage() {
  const channels = useChannels();
  const [editing, setEditing] = useState<{ channel: ChannelOut | null } | null>(null);
  const [begins, setBegins] = useState(false);
  const items = channels.data?.items ?? [];
  return (
    <>
      <PageHeader
        title="Channels"
        meta={channels.data ? `${formatNumber(items.filter(({ enabled }) => enabled).length)} on` : undefined}
        actions={
          <>
            <AlertsNav current="/alerts/channels" />
            <Button needs="change-alert" onClick={() => setBegins(true)}>
              Maintenance…
            </Button>
            <ActionButton needs="change-alert" variant="primary" onClick={() => setEditing({ channel: null })}>
              Add a channel…
            </ActionButton>
          </>
        }
      />
      <Maintenances />
      <ReadError read={channels} stale={items.length > 0} />
      {channels.isPending ? <SkeletonRows rows={3} columns={["w-28", "flex-1", "w-24"]} /> : null}
      {channels.isSuccess && items.length === 0 ? (
        <EmptyState
          title="No channel is told of alerts"
          action={
            <Button needs="change-alert" onClick={() => setEditing({ channel: null })}>
              Add a channel…
            </Button>
          }
        >
          The console shows them: the bell at the top of every page counts those that nobody has acknowledged. A channel
          takes them to a webhook, Slack, Microsoft Teams, PagerDuty, Alertmanager or by e-mail.
        </EmptyState>
      ) : null}
      <ul aria-label="Channels" className="grid grid-cols-[minmax(0,1fr)] gap-2 px-3 pb-3">
        {items.map((channel) => (
          <Channel key={channel.id} channel={channel} onEdit={() => setEditing({ channel })} />
        ))}
      </ul>
      {editing === null ? null : <ChannelDialog channel={editing.channel} onClose={() => setEditing(null)} />}
      {begins ? <MaintenanceDialog onClose={() => setBegins(false)} /> : null}
    </>
  );
}

function Channel({ channel, onEdit }: { channel: ChannelOut; onEdit: () => void }) {
  const { name, enabled, config, severities, sources, waiting, failed, lastSentAt, lastError } = channel;
  const [open, setOpen] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const may = { needs: "change-alert", everySource: sources === null, size: "sm" } as const;
  const test = useTestChannel(name);
  const sendTest = () =>
    void test
      .mutateAsync()
      .then(() => {
        setOpen(true);
        return showToast({ title: "A test message is on its way: the log says how it goes", tone: "neutral" });
      })
      .catch((error: unknown) => failureToast("The test was not sent", error));
  return (
    <li className="rounded-lg border border-line bg-surface">
      <div className="grid grid-cols-[minmax(0,1fr)] gap-1 px-3 py-2">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <h2 className={enabled ? "font-medium wrap-anywhere" : "wrap-anywhere text-muted"}>{name}</h2>
          <span className="text-muted">{CHANNEL_NAMES[config.kind]}</span>
          {enabled ? null : <span className="text-sm text-muted">off</span>}
          <div className="ml-auto flex flex-wrap gap-1">
            <ActionButton {...may} busy={test.isPending} onClick={sendTest}>
              Send a test
            </ActionButton>
            <Button {...may} onClick={onEdit}>
              Edit…
            </Button>
            <Button size="sm" variant="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? "Hide log" : "Log"}
            </Button>
            <Button {...may} variant="ghost" onClick={() => setDeleting(true)}>
              Delete…
            </Button>
          </div>
        </div>
        <p className="wrap-anywhere">
          hears of {severities.join(", ")} of {sources === null ? "every source" : sources.join(", ")}
        </p>
        <p className="text-sm text-muted">
          {lastSentAt === null ? (
            "nothing sent yet"
          ) : (
            <>
              last sent <TimeAgo at={lastSentAt} />
            </>
          )}
          {waiting > 0 ? ` · ${formatNumber(waiting)} waiting` : ""}
          {failed > 0 ? ` · ${formatNumber(failed)} given up in the last day` : ""}
        </p>
        {lastError === null ? null : <p className="text-sm text-danger wrap-anywhere">{lastError}</p>}
        <PlainSecrets places={channel.plainSecrets} />
      </div>
      {open ? <Deliveries name={name} /> : null}
      {deleting ? <DeleteDialog name={name} waiting={waiting} onClose={() => setDeleting(false)} /> : null}
    </li>
  );
}

function DeleteDialog({ name, waiting, onClose }: { name: string; waiting: number; onClose: () => void }) {
  const remove = useDeleteChannel();
  return (
    <ReasonDialog
      needs="change-alert"
      title={`Delete ${name}?`}
      description={
        waiting > 0 ? `${formatNumber(waiting)} messages that wait are not sent.` : "It is not told of anything more."
      }
      size="sm"
      variant="danger"
      verb="Delete"
      onClose={onClose}
      onSubmit={async (reason) => {
        await remove.mutateAsync({ id: name, reason });
        return { title: `Deleted ${name}`, tone: "success" };
      }}
    />
  );
}

function Maintenances() {
  const read = useMaintenances();
  const end = useEndMaintenance();
  const items = read.data?.pages.flatMap((page) => page.items) ?? [];
  if (items.length === 0) return null;
  return (
    <Panel title="Maintenance" className="mx-3 mb-3">
      <ul>
        {items.map(({ id, sources, from, until, reason, createdBy }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line px-3 py-2 not-first:border-t">
            <span className="min-w-0 flex-1 wrap-anywhere">
              Nobody is told of {sources === null ? "anything" : sources.join(", ")} from <TimeAgo at={from} /> until{" "}
              <TimeAgo at={until} />: {reason} <span className="text-muted">({createdBy})</span>
            </span>
            <ActionButton
              needs="change-alert"
              everySource={sources === null}
              size="sm"
              onClick={() =>
                void end.mutateAsync({ id }).catch((error: unknown) => failureToast("It was not ended", error))
              }
            >
              End now
            </ActionButton>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
