"use client";

import { useState } from "react";
import { ResourcePage } from "@/components/resource/resource-page";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { ConfirmButton, DialogButton } from "@/components/ui/dialog-button";
import { lazily } from "@/components/ui/lazily";
import { itemsOf } from "@/components/ui/loaded";
import { Panel } from "@/components/ui/panel";
import { PlainSecrets } from "@/components/ui/plain-secrets";
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
import { channelKindOf } from "@/lib/observe/channels/kinds/channel-kinds.pure";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";

const ChannelDialog = lazily(() => import("./channel-dialog"), "ChannelDialog");
const MaintenanceDialog = lazily(() => import("./maintenance-dialog"), "MaintenanceDialog");
const Deliveries = lazily(() => import("./deliveries"), "Deliveries");

export function ChannelsPage() {
  return (
    <ResourcePage
      title="Channels"
      meta={(items) => `${formatNumber(items.filter(({ enabled }) => enabled).length)} on`}
      actions={
        <DialogButton needs="change-alert" dialog={(onClose) => <MaintenanceDialog onClose={onClose} />}>
          Start maintenance…
        </DialogButton>
      }
      needs="change-alert"
      add="Add a channel…"
      above={<Maintenances />}
      read={useChannels()}
      loading={{ rows: 3, columns: ["w-28", "flex-1", "w-24"] }}
      empty={{
        title: "No channels yet",
        text: "Alerts are shown only in the console: the bell at the top of every page counts those not acknowledged. A channel also sends them to a webhook, Slack, Microsoft Teams, PagerDuty, Alertmanager or by e-mail.",
      }}
      dialog={(channel, onClose) => <ChannelDialog channel={channel} onClose={onClose} />}
    >
      {(items, edit) => (
        <ul aria-label="Channels" className="grid grid-cols-[minmax(0,1fr)] gap-2 px-3 pb-3">
          {items.map((channel) => (
            <Channel key={channel.id} channel={channel} onEdit={() => edit(channel)} />
          ))}
        </ul>
      )}
    </ResourcePage>
  );
}

function Channel({ channel, onEdit }: { channel: ChannelOut; onEdit: () => void }) {
  const { name, enabled, config, severities, sources, waiting, failed, lastSentAt, lastError } = channel;
  const [open, setOpen] = useState(false);
  const remove = useDeleteChannel();
  const may = { needs: "change-alert", everySource: sources === null, size: "sm" } as const;
  const test = useTestChannel(name);
  const sendTest = () =>
    void test
      .mutateAsync()
      .then(() => {
        setOpen(true);
        return showToast({ title: "Test message queued: the log shows its result", tone: "neutral" });
      })
      .catch((error: unknown) => failureToast("The test was not sent", error));
  return (
    <li className="rounded-lg border border-line bg-surface">
      <div className="grid grid-cols-[minmax(0,1fr)] gap-1 px-3 py-2">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <h2 className={enabled ? "font-medium wrap-anywhere" : "wrap-anywhere text-muted"}>{name}</h2>
          <span className="text-muted">{channelKindOf(config.kind).name}</span>
          {enabled ? null : <span className="text-sm text-muted">off</span>}
          <div className="ml-auto flex flex-wrap gap-1">
            <ActionButton {...may} busy={test.isPending} onClick={sendTest}>
              Send a test
            </ActionButton>
            <Button {...may} onClick={onEdit}>
              Edit…
            </Button>
            <Button size="sm" variant="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? "Hide log" : "Show log"}
            </Button>
            <ConfirmButton
              {...may}
              variant="ghost"
              confirm={{
                title: `Delete ${name}?`,
                description:
                  waiting > 0 ? `${plural(waiting, "queued message")} will not be sent.` : "It gets no more messages.",
                size: "sm",
                variant: "danger",
                verb: "Delete",
                onSubmit: async (reason) => {
                  await remove.mutateAsync({ id: name, reason });
                  return { title: `Deleted ${name}`, tone: "success" };
                },
              }}
            >
              Delete…
            </ConfirmButton>
          </div>
        </div>
        <p className="wrap-anywhere">
          receives {severities.join(", ")} alerts from {sources === null ? "all sources" : sources.join(", ")}
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
          {failed > 0 ? ` · ${formatNumber(failed)} failed in the last day` : ""}
        </p>
        {lastError === null ? null : <p className="text-sm text-danger wrap-anywhere">{lastError}</p>}
        <PlainSecrets places={channel.plainSecrets} />
      </div>
      {open ? <Deliveries name={name} /> : null}
    </li>
  );
}

function Maintenances() {
  const end = useEndMaintenance();
  const items = itemsOf(useMaintenances());
  if (items.length === 0) return null;
  return (
    <Panel title="Maintenance" className="mx-3 mb-3">
      <ul>
        {items.map(({ id, sources, from, until, reason, createdBy }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line px-3 py-2 not-first:border-t">
            <span className="min-w-0 flex-1 wrap-anywhere">
              No messages about {sources === null ? "any source" : sources.join(", ")} from <TimeAgo at={from} /> until{" "}
              <TimeAgo at={until} />: {reason} <span className="text-muted">({createdBy})</span>
            </span>
            <ActionButton
              needs="change-alert"
              everySource={sources === null}
              size="sm"
              onClick={() =>
                void end
                  .mutateAsync({ id })
                  .catch((error: unknown) => failureToast("The maintenance window was not ended", error))
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
