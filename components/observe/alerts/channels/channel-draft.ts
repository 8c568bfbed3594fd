import { withValue } from "@/components/sources/form/source-draft";
import type { Asked } from "@/components/ui/draft-dialog";
import { valueAt } from "@/lib/brokers/kinds/config-strings.pure";
import type { OAuthSettings } from "@/lib/brokers/kinds/fields.shapes";
import type { Severity } from "@/lib/observe/alerts/severity.pure";
import type { ChannelOut, ChannelRequest } from "@/lib/observe/channels/channels.shapes";
import type { ChannelKind } from "@/lib/observe/channels/notices.pure";

export type ChannelDraft = {
  name: string;
  enabled: boolean;
  severities: readonly Severity[];
  sources: string;
  kind: ChannelKind;
  settings: Partial<Record<Setting, string>>;
};

type OAuthSetting = `oauth.${keyof OAuthSettings}`;
export type Setting =
  | "url"
  | "secret"
  | "routingKey"
  | "server"
  | "username"
  | "password"
  | "from"
  | "to"
  | OAuthSetting;
type ChannelErrors = Partial<Record<"name" | "severities" | "sources" | Setting, string>>;

type SettingLook = { label: string; placeholder: string; hint?: string; optional?: boolean };
const ENV = (name: string) => `env:PARKADE_SECRET_${name}`;
const BY_NAME = "the variable of web and worker that holds it";

const OAUTH: Record<OAuthSetting, SettingLook> = {
  "oauth.url": {
    label: "token URL",
    placeholder: "https://login.example/oauth2/token",
    hint: "OAuth 2.0 by client credentials: each message has a token",
    optional: true,
  },
  "oauth.clientId": { label: "client id", placeholder: "parkade", optional: true },
  "oauth.clientSecret": { label: "client secret", placeholder: ENV("CLIENT"), hint: BY_NAME, optional: true },
  "oauth.method": {
    label: "client authentication",
    placeholder: "client_secret_basic",
    hint: "or client_secret_post",
    optional: true,
  },
  "oauth.scope": { label: "scope", placeholder: "alerts.write", optional: true },
  "oauth.audience": { label: "audience", placeholder: "https://ops.example.com", optional: true },
};

/** The settings of each kind, in the order of the form. */
export const SETTINGS_OF: Record<ChannelKind, Partial<Record<Setting, SettingLook>>> = {
  webhook: {
    url: { label: "address", placeholder: "https://ops.example.com/alerts", hint: "or env:NAME" },
    secret: {
      label: "signing secret",
      placeholder: ENV("ALERTS"),
      hint: `${BY_NAME}; Standard Webhooks`,
      optional: true,
    },
    ...OAUTH,
  },
  slack: {
    url: { label: "incoming webhook", placeholder: ENV("SLACK_URL"), hint: `${BY_NAME}: the address is its secret` },
  },
  teams: {
    url: { label: "workflow webhook", placeholder: ENV("TEAMS_URL"), hint: `${BY_NAME}: the address is its secret` },
  },
  pagerduty: {
    routingKey: { label: "integration key", placeholder: ENV("PAGERDUTY"), hint: BY_NAME },
    url: { label: "address", placeholder: "https://events.pagerduty.com/v2/enqueue", optional: true },
  },
  email: {
    server: {
      label: "SMTP server",
      placeholder: "smtp://mail.example.com:587",
      hint: "smtps:// for TLS from the start",
    },
    username: { label: "user", placeholder: "parkade", optional: true },
    password: { label: "password", placeholder: ENV("SMTP"), hint: `${BY_NAME}; sent over TLS alone`, optional: true },
    from: { label: "from", placeholder: "parkade@example.com" },
    to: { label: "to", placeholder: "oncall@example.com, maria@example.com" },
  },
  alertmanager: {
    url: { label: "address", placeholder: "http://alertmanager:9093" },
    username: { label: "user", placeholder: "parkade", optional: true },
    password: { label: "password", placeholder: ENV("ALERTMANAGER"), hint: BY_NAME, optional: true },
    ...OAUTH,
  },
};

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
  const config = Object.keys(SETTINGS_OF[kind]).reduce(
    (typed, setting) => {
      const text = settings[setting as Setting]?.trim() ?? "";
      return withValue(typed, setting.split("."), setting === "to" ? list(text) : text || undefined);
    },
    { kind } as Parameters<typeof withValue>[0],
  );
  const errors: ChannelErrors = {};
  if (name.trim() === "") errors.name = "must not be empty";
  if (severities.length === 0) errors.severities = "choose at least one";
  for (const [setting, { optional = false }] of Object.entries(SETTINGS_OF[kind])) {
    if (!optional && !settings[setting as Setting]?.trim()) errors[setting as Setting] = "must not be empty";
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
  const texts = Object.keys(SETTINGS_OF[kind]).flatMap((setting) => {
    const value = valueAt(config, setting.split("."));
    return value === undefined ? [] : [[setting, Array.isArray(value) ? value.join(", ") : value]];
  });
  return { name, enabled, severities, sources: sources?.join(", ") ?? "", kind, settings: Object.fromEntries(texts) };
}
