/** Where messages about alerts go. */
export const CHANNEL_KINDS = ["webhook", "slack", "teams", "pagerduty", "email", "alertmanager"] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

export const CHANNEL_NAMES: Record<ChannelKind, string> = {
  webhook: "Webhook",
  slack: "Slack",
  teams: "Microsoft Teams",
  pagerduty: "PagerDuty",
  email: "E-mail",
  alertmanager: "Alertmanager",
};

/** Kinds that keep a record of their own for each rule, and close it: each rule needs its own message there. */
const KEEPS_RECORDS: readonly ChannelKind[] = ["pagerduty", "alertmanager"];
export const keepsRecords = (kind: ChannelKind): boolean => KEEPS_RECORDS.includes(kind);

/** Kinds that know that somebody looks at an alert. */
export const knowsAcknowledged = (kind: ChannelKind): boolean => kind === "pagerduty";

/**
 * Alertmanager resolves an alert by itself that nobody sends again: it is told again after this time, and not to forget it
 * for three times as long.
 */
export const ALERTMANAGER_REPEAT_MS = 300_000;
export const ALERTMANAGER_KEEP_MS = 3 * ALERTMANAGER_REPEAT_MS;
