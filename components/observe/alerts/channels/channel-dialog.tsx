"use client";

import { DraftDialog, type Form } from "@/components/ui/draft-dialog";
import { TextField, Tick } from "@/components/ui/input";
import { SelectField } from "@/components/ui/select";
import { useAddChannel, useChangeChannel } from "@/lib/observe/channels/channels.browser";
import type { ChannelOut } from "@/lib/observe/channels/channels.shapes";
import { CHANNEL_KINDS, type ChannelKind, channelKindOf } from "@/lib/observe/channels/kinds/channel-kinds.pure";
import { SEVERITIES } from "@/lib/states/severity.pure";
import { type ChannelDraft, channelDraftOf, channelRequest, NEW_CHANNEL, settingsOf } from "./channel-draft";

const KIND_OPTIONS = CHANNEL_KINDS.map((kind) => ({ value: kind, label: channelKindOf(kind).name }));

/** Adds a channel, or changes one. Secrets are named, never typed. */
export function ChannelDialog({ channel, onClose }: { channel: ChannelOut | null; onClose: () => void }) {
  const add = useAddChannel();
  const change = useChangeChannel(channel?.name ?? "");
  return (
    <DraftDialog
      needs="change-alert"
      by={({ sources }) => ({ everySource: sources.trim() === "" })}
      title={channel === null ? "Add a channel" : `Edit ${channel.name}`}
      description="It gets a message when an alert fires, continues or resolves. Secrets are never stored: name the variable that holds each."
      verb={channel === null ? "Add the channel" : "Save"}
      reason="optional"
      initial={() => (channel === null ? NEW_CHANNEL : channelDraftOf(channel))}
      request={channelRequest}
      errorsOf={(fields) =>
        Object.fromEntries(fields.map(({ field, detail }) => [field.replace(/^config\./, ""), detail]))
      }
      save={async ({ name, ...settings }, reason) => {
        const why = reason ? { reason } : {};
        if (channel === null) {
          await add.mutateAsync({ name, ...settings, ...why });
          return `Added ${name}: send a test message`;
        }
        await change.mutateAsync({ ...settings, changedAt: channel.updatedAt, ...why });
        return `Changed ${channel.name}`;
      }}
      onClose={onClose}
    >
      {(form) => <Fields {...form} isNew={channel === null} />}
    </DraftDialog>
  );
}

function Fields({ draft, errors, set, text, tick, isNew }: Form<ChannelDraft> & { isNew: boolean }) {
  const { kind, severities, settings } = draft;
  const isOAuth = (setting: string) => setting.startsWith("oauth.");
  const fields = (shown: (setting: string) => boolean) =>
    Object.entries(settingsOf(kind))
      .filter(([setting]) => shown(setting))
      .map(([setting, { label, placeholder, hint, optional }]) => (
        <TextField
          key={setting}
          {...{ label, placeholder, hint, optional }}
          inputClassName="font-mono"
          error={errors[setting]}
          value={settings[setting] ?? ""}
          onValue={(value) => set({ settings: { ...settings, [setting]: value } })}
        />
      ));
  const oauth = fields(isOAuth);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <div className="flex flex-wrap items-start gap-2">
        <TextField {...text("name")} label="Name" className="min-w-40 flex-1" maxLength={100} disabled={!isNew} />
        <SelectField
          label="Kind"
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
        <legend className="text-sm font-medium text-muted">Severities</legend>
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
        {...text("sources")}
        label="Sources"
        optional
        placeholder="orders, billing"
        hint="Leave empty for all sources and for alerts about the whole system."
      />
      <Tick {...tick("enabled")} label="Enabled" />
    </div>
  );
}
