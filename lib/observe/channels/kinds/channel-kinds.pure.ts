import { ALERTMANAGER } from "@/lib/observe/channels/kinds/alertmanager.pure";
import type { ChannelKindOf, ChannelSettings, ChannelValues } from "@/lib/observe/channels/kinds/channel-kind.pure";
import { EMAIL } from "@/lib/observe/channels/kinds/email.pure";
import { PAGERDUTY } from "@/lib/observe/channels/kinds/pagerduty.pure";
import { SLACK } from "@/lib/observe/channels/kinds/slack.pure";
import { TEAMS } from "@/lib/observe/channels/kinds/teams.pure";
import { WEBHOOK } from "@/lib/observe/channels/kinds/webhook.pure";

/** Where messages about alerts go, in the order of the form. A kind is one file and one line here. */
const KINDS = [WEBHOOK, SLACK, TEAMS, PAGERDUTY, EMAIL, ALERTMANAGER] as const;

type Listed = (typeof KINDS)[number];
export type ChannelKind = Listed["kind"];
/** Without the client of OAuth of those kinds that can have one. */
export type OwnConfig = {
  [Name in ChannelKind]: { kind: Name } & ChannelValues<Extract<Listed, { kind: Name }>["settings"]>;
}[ChannelKind];
/** The kinds whose requests can have a token of OAuth 2.0. */
export type OAuthKind = Extract<Listed, { oauth?: true }>["kind"];

export const CHANNEL_KINDS: readonly ChannelKind[] = KINDS.map(({ kind }) => kind);

// A channel is read by its own kind, so what its functions get is of the kind.
const BY_NAME = new Map(
  KINDS.map((kind) => [kind.kind, kind as unknown as ChannelKindOf<ChannelKind, ChannelSettings, OwnConfig>]),
);

export const channelKindOf = (kind: ChannelKind) => BY_NAME.get(kind)!;
