import { withValue } from "@/components/sources/form/source-draft";
import type { Asked } from "@/components/ui/draft-dialog";
import { valueAt } from "@/lib/brokers/kinds/config-strings.pure";
import type { OAuthSettings } from "@/lib/brokers/kinds/fields.shapes";
import type { ChannelOut, ChannelRequest } from "@/lib/observe/channels/channels.shapes";
import { BY_NAME, type ChannelSetting, envName } from "@/lib/observe/channels/kinds/channel-kind.pure";
import { type ChannelKind, channelKindOf } from "@/lib/observe/channels/kinds/channel-kinds.pure";
import type { Severity } from "@/lib/states/severity.pure";

export type ChannelDraft = {
  name: string;
  enabled: boolean;
  severities: readonly Severity[];
  sources: string;
  kind: ChannelKind;
  /** By the path of the setting: `url`, `oauth.url`. */
  settings: Partial<Record<string, string>>;
};

type Look = Pick<ChannelSetting, "label" | "placeholder" | "hint" | "optional">;

const OAUTH: Record<`oauth.${keyof OAuthSettings}`, Look> = {
  "oauth.url": {
    label: "Token URL",
    placeholder: "https://login.example/oauth2/token",
    hint: "OAuth 2.0 client credentials: each message carries an access token",
    optional: true,
  },
  "oauth.clientId": { label: "Client id", placeholder: "parkade", optional: true },
  "oauth.clientSecret": { label: "Client secret", placeholder: envName("CLIENT"), hint: BY_NAME, optional: true },
  "oauth.method": {
    label: "Client authentication",
    placeholder: "client_secret_basic",
    hint: "or client_secret_post",
    optional: true,
  },
  "oauth.scope": { label: "Scope", placeholder: "alerts.write", optional: true },
  "oauth.audience": { label: "Audience", placeholder: "https://ops.example.com", optional: true },
};

/** The settings of a kind, in the order of the form. */
export const settingsOf = (kind: ChannelKind): Readonly<Record<string, Look>> => ({
  ...channelKindOf(kind).settings,
  ...(channelKindOf(kind).oauth ? OAUTH : {}),
});

export const NEW_CHANNEL: ChannelDraft = {
  ...{ name: "", enabled: true, severities: ["critical", "warning"], sources: "", kind: "webhook", settings: {} },
};

const list = (text: string) =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");

/** The request that a draft makes, or what it lacks, by field. */
export function channelRequest(draft: ChannelDraft): Asked<ChannelRequest> {
  const { name, enabled, severities, sources, kind, settings } = draft;
  const config = Object.keys(settingsOf(kind)).reduce(
    (typed, setting) => {
      const text = settings[setting]?.trim() ?? "";
      return withValue(
        typed,
        setting.split("."),
        channelKindOf(kind).settings[setting]?.input === "mails" ? list(text) : text || undefined,
      );
    },
    { kind } as Parameters<typeof withValue>[0],
  );
  const errors: Record<string, string> = {};
  if (name.trim() === "") errors.name = "must not be empty";
  if (severities.length === 0) errors.severities = "choose at least one";
  for (const [setting, { optional = false }] of Object.entries(settingsOf(kind))) {
    if (!optional && !settings[setting]?.trim()) errors[setting] = "must not be empty";
  }
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const request = {
    ...{ name: name.trim(), enabled, severities: [...severities] },
    sources: sources.trim() === "" ? null : list(sources),
    // The settings of its kind: what they may be the server says.
    config: config as ChannelRequest["config"],
  };
  return { ok: true, request };
}

export function channelDraftOf({ name, enabled, severities, sources, config }: ChannelOut): ChannelDraft {
  const { kind } = config;
  const texts = Object.keys(settingsOf(kind)).flatMap((setting) => {
    const value = valueAt(config, setting.split("."));
    return value === undefined ? [] : [[setting, Array.isArray(value) ? value.join(", ") : value]];
  });
  return { name, enabled, severities, sources: sources?.join(", ") ?? "", kind, settings: Object.fromEntries(texts) };
}
