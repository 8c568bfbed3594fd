import * as z from "zod/mini";
import { stringsIn } from "@/lib/brokers/kinds/config-strings.pure";
import { type OAuthSettings, oauthSettings } from "@/lib/brokers/kinds/fields.shapes";
import { MASK, plainAddressFault, redactUrl, urlHoldsSecret } from "@/lib/guard/redaction/redact-url.shapes";
import { PLAIN_ADDRESS_WORDS, type PlainSecretMode, referenceIn } from "@/lib/guard/redaction/secret-references.pure";
import type { ChannelSetting } from "@/lib/observe/channels/kinds/channel-kind.pure";
import {
  CHANNEL_KINDS,
  type ChannelKind,
  channelKindOf,
  type OAuthKind,
  type OwnConfig,
} from "@/lib/observe/channels/kinds/channel-kinds.pure";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import {
  boundedText,
  countOut,
  deletion,
  editedOut,
  idOut,
  named,
  nullableText,
  nullableTime,
  pageOut,
  reasonSchema,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import { type FieldError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { TEXT_MAX } from "@/lib/platform/plain/storable.pure";
import { ruleName, yesOrNo } from "@/lib/rules/rule.shapes";
import { SEVERITIES } from "@/lib/states/severity.pure";

const SOURCES_MAX = 100;
const RECIPIENTS_MAX = 50;

const MAIL_WORDS = "must look like maria@example.com";
// One line, one @, no comma: a list of recipients or a header must not fit into one.
const mailAddress = boundedText(320).check(z.regex(/^[^\s@<>,;:"]+@[^\s@<>,;:"]+$/, MAIL_WORDS));

/** A secret is named, never given: no store, no backup and no answer of the API ever holds it. See `configFaults`. */
const SCHEMAS = {
  secret: boundedText(200),
  address: boundedText(2_000),
  server: boundedText(500),
  text: boundedText(320),
  mail: mailAddress,
  mails: z
    .array(mailAddress)
    .check(z.minLength(1, "name at least one"), z.maxLength(RECIPIENTS_MAX, `at most ${RECIPIENTS_MAX}`)),
};

function settingSchema(setting: ChannelSetting) {
  const schema = SCHEMAS[setting.input];
  if ("initial" in setting && setting.initial !== undefined) return z._default(SCHEMAS.address, setting.initial);
  return setting.optional ? z.optional(schema) : schema;
}

function kindSchema(kind: ChannelKind) {
  const { settings, oauth } = channelKindOf(kind);
  const own = Object.entries(settings).map(([name, setting]) => [name, settingSchema(setting)] as const);
  const token = oauth ? { oauth: z.optional(oauthSettings) } : {};
  return z.strictObject({ kind: z.literal(kind), ...Object.fromEntries(own), ...token });
}

export type ChannelConfig = OwnConfig extends infer Own
  ? Own extends { kind: OAuthKind }
    ? Own & { oauth?: OAuthSettings | undefined }
    : Own
  : never;

const [firstKind, ...otherKinds] = CHANNEL_KINDS;
const channelConfigSchema = z.discriminatedUnion("kind", [kindSchema(firstKind!), ...otherKinds.map(kindSchema)], {
  error: `kind must be one of ${CHANNEL_KINDS.join(", ")}`,
}) as unknown as z.ZodMiniType<ChannelConfig>;

const OAUTH_INPUTS: Record<string, ChannelSetting["input"]> = {
  "oauth.url": "address",
  "oauth.clientSecret": "secret",
};
const inputOf = ({ kind }: ChannelConfig, field: string) =>
  channelKindOf(kind).settings[field]?.input ?? OAUTH_INPUTS[field];
const isSecret = (config: ChannelConfig, field: string) => inputOf(config, field) === "secret";
/** It names a server, or holds a reference to one. */
export const isAddress = (config: ChannelConfig, field: string) =>
  ["address", "server"].includes(inputOf(config, field) ?? "");
/** Each setting that is text, and each entry of a list, by its path: `url`, `oauth.url`. */
export const textsOf = (config: ChannelConfig) =>
  stringsIn(config).map(({ path, text }) => ({ field: path.join("."), value: text }));
const REFERENCE_WORDS = "must be env:NAME, the variable that holds it: secrets are not stored";
const ADDRESS_WORDS = "must be an address that begins with https:// or http://, or env:NAME";
const SERVER_WORDS = "must look like smtp://mail.example.com:587, or smtps:// for TLS from the start";
const CREDENTIALS_WORDS = "must not contain a user or password: no message is sent with them";
const OAUTH_WORDS = "cannot be combined with oauth, which sets the Authorization header: remove one of them";
const MASK_WORDS = "contains ***, which stands for a hidden value: enter the whole address, or env:NAME";

/** What of a configuration is no reference where it must be one, or no address. The values are not repeated. */
export function configFaults(config: ChannelConfig): FieldError[] {
  return textsOf(config).flatMap(({ field, value }): FieldError[] => {
    const detail = settingFault(config, field, value);
    return detail === null ? [] : [{ field: `config.${field}`, detail }];
  });
}

function settingFault(config: ChannelConfig, field: string, value: string): string | null {
  if (isSecret(config, field)) return referenceIn(value) === null ? REFERENCE_WORDS : null;
  if (field === "username" && "oauth" in config && config.oauth !== undefined) return OAUTH_WORDS;
  if (field === "oauth.url" && urlHoldsSecret(value)) return PLAIN_ADDRESS_WORDS;
  if (field === "server") return addressFault(value, { protocols: ["smtp:", "smtps:"], words: SERVER_WORDS });
  return field === "url" && referenceIn(value) === null ? channelUrlFault(value) : null;
}

/** Why messages cannot be sent to the URL of a channel, or to the one that its reference stands for; null = they can. */
export function channelUrlFault(text: string): string | null {
  return addressFault(text, { protocols: ["https:", "http:"], words: ADDRESS_WORDS });
}

function addressFault(text: string, { protocols, words }: { protocols: string[]; words: string }): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !protocols.includes(url.protocol) || url.hostname === "") return words;
  return url.username + url.password === "" ? null : CREDENTIALS_WORDS;
}

/** Where a configuration has a secret that is no reference, such as a token in an address: `config.url`. */
export function plainChannelSecretPlaces(config: ChannelConfig): string[] {
  return textsOf(config).flatMap(({ field, value }) => {
    if (referenceIn(value) !== null) return [];
    return isSecret(config, field) || (isAddress(config, field) && urlHoldsSecret(value)) ? [`config.${field}`] : [];
  });
}

/** The configuration as it may leave the server: a token in its address is masked. */
export function redactChannelConfig<Config extends ChannelConfig>(config: Config): Config {
  return "url" in config && urlHoldsSecret(config.url) ? { ...config, url: redactUrl(config.url) } : config;
}

/**
 * An edited configuration whose address is as `redactChannelConfig` shows the stored one, with the stored address. Throws DomainError
 * `invalid-config` for another mask, and for a new secret in the address where they are refused. `stored` null = a new channel.
 */
export function restoreMaskedAddress(
  edited: ChannelConfig,
  stored: ChannelConfig | null,
  { plainSecretMode }: { plainSecretMode: PlainSecretMode },
): ChannelConfig {
  if (!("url" in edited)) return edited;
  const before = stored !== null && "url" in stored ? stored : null;
  if (before !== null && (edited.url === before.url || edited.url === redactChannelConfig(before).url))
    return { ...edited, url: before.url };
  const detail = edited.url.includes(MASK) ? MASK_WORDS : plainAddressFault(edited.url, before?.url, plainSecretMode);
  if (detail !== null) throw invalidFields([{ field: "config.url", detail }], "invalid-config");
  return edited;
}

const takes = {
  severities: z
    .array(z.enum(SEVERITIES, `must be one of ${SEVERITIES.join(", ")}`))
    .check(z.minLength(1, "name at least one"), z.maxLength(SEVERITIES.length)),
  /** null = of every source. */
  sources: z.nullable(
    z
      .array(boundedText(TEXT_MAX.sourceName))
      .check(z.minLength(1, "name at least one, or give null for every source"), z.maxLength(SOURCES_MAX)),
  ),
};

const CONFIG = { kind: "webhook", url: "https://ops.example.com/alerts", secret: "env:PARKADE_SECRET_ALERTS" } as const;

export const channelRequestSchema = named(
  "ChannelRequest",
  z.strictObject({
    name: ruleName,
    enabled: z._default(yesOrNo, true),
    severities: z._default(takes.severities, ["critical", "warning"]),
    sources: z._default(takes.sources, null),
    config: channelConfigSchema,
    reason: z.optional(reasonSchema),
  }),
  { name: "ops", severities: ["critical", "warning"], sources: null, config: CONFIG },
);
export type ChannelRequest = z.infer<typeof channelRequestSchema>;

export const channelChangeSchema = named(
  "ChannelChange",
  z.strictObject({
    enabled: z.optional(yesOrNo),
    severities: z.optional(takes.severities),
    sources: z.optional(takes.sources),
    /** The whole configuration, of the same kind. */
    config: z.optional(channelConfigSchema),
    /** `updatedAt` as read: a later change is not overwritten. Absent = overwrite any. */
    changedAt: z.optional(z.iso.datetime({ offset: true, error: "must be an ISO 8601 time with an offset" })),
    reason: z.optional(reasonSchema),
  }),
  { severities: ["critical"], reason: "warnings go to the chat" },
);
export type ChannelChange = z.infer<typeof channelChangeSchema>;

export const channelDeletionSchema = deletion("ChannelDeletion", "the team uses another one");

export const channelSchema = named(
  "Channel",
  z.object({
    id: idOut,
    name: z.string(),
    enabled: z.boolean(),
    severities: z.array(z.enum(SEVERITIES)),
    sources: z.nullable(z.array(z.string())),
    config: channelConfigSchema,
    /** Where `config` has a secret that is no reference, such as `config.url`: it lies in the store as it was typed. */
    plainSecrets: z.array(z.string()),
    /** Messages that wait, and those that were given up in the last day. */
    waiting: countOut,
    failed: countOut,
    lastSentAt: nullableTime,
    /** Of the newest message that has failed and none was sent after it. */
    lastError: nullableText,
    ...editedOut,
  }),
);
export type ChannelOut = z.infer<typeof channelSchema>;
export const channelRowSchema = z.extend(z.omit(channelSchema, { plainSecrets: true }), {
  kind: z.enum(CHANNEL_KINDS),
});
export type ChannelRow = z.infer<typeof channelRowSchema>;
export const channelListSchema = z.object({ items: z.array(channelSchema) });
export type ChannelList = z.infer<typeof channelListSchema>;

const deliverySchema = named(
  "AlertDelivery",
  z.object({
    id: z.string(),
    event: z.enum(["fired", "repeated", "acknowledged", "resolved", "digest", "test", "ended", "stands-still"]),
    rule: z.string(),
    severity: z.enum(SEVERITIES),
    sentence: z.string(),
    /** `waiting`: it is tried again. `failed`: it was given up. */
    state: z.enum(["waiting", "sent", "failed"]),
    at: timeOut,
    sentAt: nullableTime,
    /** The next try of one that waits. */
    nextAt: nullableTime,
    /** Tries that the receiver refused; an outage of it counts for none. */
    refusals: countOut,
    lastError: nullableText,
  }),
);
export type DeliveryOut = z.infer<typeof deliverySchema>;
export const deliveryListSchema = pageOut(deliverySchema);
export type DeliveryList = z.infer<typeof deliveryListSchema>;
export const deliveriesQuery = idPageQuery({});

export const channelTestSchema = named("ChannelTest", z.object({ id: z.string() }));
