import type { Severity } from "@/lib/observe/alerts/rules/alert-rule.pure";
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

const SETTINGS = ["url", "secret", "routingKey", "server", "username", "password", "from", "to"] as const;
export type Setting = (typeof SETTINGS)[number];
export type ChannelErrors = Partial<Record<"name" | "severities" | "sources" | Setting, string>>;

type SettingLook = { label: string; placeholder: string; hint?: string; optional?: boolean };
const ENV = (name: string) => `env:PARKADE_SECRET_${name}`;
const BY_NAME = "the variable of web and worker that holds it";

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

type ChannelResult = { ok: true; request: ChannelRequest } | { ok: false; errors: ChannelErrors };

/** The request that a draft makes, or what it lacks, by field. */
export function channelRequest(draft: ChannelDraft): ChannelResult {
  const { name, enabled, severities, sources, kind, settings } = draft;
  const typed = Object.keys(SETTINGS_OF[kind]).flatMap((setting) => {
    const text = settings[setting as Setting]?.trim() ?? "";
    if (setting === "to") return [["to", list(text)]];
    return text === "" ? [] : [[setting, text]];
  });
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
    config: { kind, ...Object.fromEntries(typed) } as ChannelRequest["config"],
  };
  return { ok: true, request };
}

export function channelDraftOf({ name, enabled, severities, sources, config }: ChannelOut): ChannelDraft {
  const { kind, ...settings } = config;
  const texts = Object.entries(settings).map(([setting, value]) => [
    setting,
    Array.isArray(value) ? value.join(", ") : value,
  ]);
  return { name, enabled, severities, sources: sources?.join(", ") ?? "", kind, settings: Object.fromEntries(texts) };
}
