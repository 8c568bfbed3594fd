"use client";

import { useState } from "react";
import { TextField, Tick } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { SEVERITIES } from "@/lib/observe/alerts/rules/alert-rule.pure";
import { useAddChannel, useChangeChannel } from "@/lib/observe/channels/channels.browser";
import type { ChannelOut } from "@/lib/observe/channels/channels.shapes";
import { CHANNEL_KINDS, CHANNEL_NAMES, type ChannelKind } from "@/lib/observe/channels/notices.pure";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import {
  type ChannelDraft,
  type ChannelErrors,
  channelDraftOf,
  channelRequest,
  NEW_CHANNEL,
  SETTINGS_OF,
  type Setting,
} from "./channel-draft";

const KIND_OPTIONS = CHANNEL_KINDS.map((kind) => ({ value: kind, label: CHANNEL_NAMES[kind] }));

/** Adds a channel, or changes one. Secrets are named, never typed. */
export function ChannelDialog({ channel, onClose }: { channel: ChannelOut | null; onClose: () => void }) {
  const [draft, setDraft] = useState<ChannelDraft>(() => (channel === null ? NEW_CHANNEL : channelDraftOf(channel)));
  const add = useAddChannel();
  const change = useChangeChannel(channel?.name ?? "");
  const refused = refusalsOf((channel === null ? add : change).error);
  return (
    <ReasonDialog
      needs="change-alert"
      everySource={draft.sources.trim() === ""}
      title={channel === null ? "Add a channel" : `Change ${channel.name}`}
      description="It gets a message when an alert fires, continues or resolves. Secrets are never stored: name the variable that holds each."
      verb={channel === null ? "Add the channel" : "Save"}
      reason="optional"
      onClose={onClose}
      onSubmit={async (reason) => {
        const made = channelRequest(draft);
        if (!made.ok) return "stay";
        const why = reason ? { reason } : {};
        if (channel === null) await add.mutateAsync({ ...made.request, ...why });
        else {
          const { name: _, ...rest } = made.request;
          await change.mutateAsync({ ...rest, changedAt: channel.updatedAt, ...why });
        }
        return {
          title: channel === null ? `Added ${made.request.name}: send a test message` : `Changed ${channel.name}`,
          tone: "success",
        };
      }}
    >
      {(pressed) => {
        const made = channelRequest(draft);
        const set = (part: Partial<ChannelDraft>) => setDraft({ ...draft, ...part });
        const errors = pressed && !made.ok ? made.errors : refused;
        return <Fields draft={draft} isNew={channel === null} errors={errors} set={set} />;
      }}
    </ReasonDialog>
  );
}

function refusalsOf(error: ApiError | null): ChannelErrors {
  const fields = error?.fields ?? [];
  return Object.fromEntries(fields.map(({ field, detail }) => [field.replace(/^config\./, ""), detail]));
}

type FieldsProps = {
  draft: ChannelDraft;
  isNew: boolean;
  errors: ChannelErrors;
  set: (part: Partial<ChannelDraft>) => void;
};

function Fields({ draft, isNew, errors, set }: FieldsProps) {
  const { kind, severities, settings } = draft;
  const isOAuth = (setting: string) => setting.startsWith("oauth.");
  const fields = (shown: (setting: string) => boolean) =>
    Object.entries(SETTINGS_OF[kind])
      .filter(([setting]) => shown(setting))
      .map(([setting, look]) => (
        <TextField
          key={setting}
          {...look}
          inputClassName="font-mono"
          error={errors[setting as Setting]}
          value={settings[setting as Setting] ?? ""}
          onValue={(value) => set({ settings: { ...settings, [setting]: value } })}
        />
      ));
  const oauth = fields(isOAuth);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <div className="flex flex-wrap items-start gap-2">
        <TextField
          label="name"
          className="min-w-40 flex-1"
          maxLength={100}
          disabled={!isNew}
          error={errors.name}
          value={draft.name}
          onValue={(name) => set({ name })}
        />
        <SelectField
          label="kind"
          options={KIND_OPTIONS}
          disabled={!isNew}
          value={kind}
          onValue={(value) => set({ kind: value as ChannelKind, settings: {} })}
        />
      </div>
      {fields((setting) => !isOAuth(setting))}
      {oauth.length > 0 ? (
        <details open={[...Object.keys(settings), ...Object.keys(errors)].some(isOAuth)}>
          <summary className="text-sm font-medium text-muted">OAuth 2.0 client credentials · optional</summary>
          <div className="mt-2 grid gap-3">{oauth}</div>
        </details>
      ) : null}
      <fieldset className="grid gap-1">
        <legend className="text-sm font-medium text-muted">alerts of severity</legend>
        <div className="flex flex-wrap gap-x-4">
          {SEVERITIES.map((severity) => (
            <Tick
              key={severity}
              label={severity}
              checked={severities.includes(severity)}
              onChecked={(on) =>
                set({ severities: SEVERITIES.filter((each) => (each === severity ? on : severities.includes(each))) })
              }
            />
          ))}
        </div>
        {errors.severities ? <p className="text-sm text-danger">{errors.severities}</p> : null}
      </fieldset>
      <TextField
        label="of the sources"
        optional
        placeholder="orders, billing"
        hint="none = every source, and what concerns all of them"
        error={errors.sources}
        value={draft.sources}
        onValue={(sources) => set({ sources })}
      />
      <Tick label="switched on" checked={draft.enabled} onChecked={(enabled) => set({ enabled })} />
    </div>
  );
}
