import type { AlertMessage } from "@/lib/observe/channels/alert-message.pure";

type Look = { label: string; placeholder: string; hint?: string; optional?: true };

/**
 * A field of a channel: the API checks it, the form shows it, and the type of the channel follows from it.
 *
 * - `secret`: the name of the variable that holds it, never the value;
 * - `address`: of an HTTP server, or the name of the variable that holds the whole of it;
 * - `server`: of mail.
 */
export type ChannelSetting = Look &
  (
    | { input: "secret" | "server" | "text" | "mail" }
    | { input: "mails" }
    /** `initial`: used unless another one is given. */
    | { input: "address"; initial?: string }
  );
export type ChannelSettings = Readonly<Record<string, ChannelSetting>>;

type Optional<Of> = {
  [Name in keyof Of]: Of[Name] extends { initial: string } ? never : Of[Name] extends { optional: true } ? Name : never;
}[keyof Of];
type ValueOf<Of> = Of extends { input: "mails" } ? string[] : string;
export type ChannelValues<Of> = { [Name in Exclude<keyof Of, Optional<Of>>]: ValueOf<Of[Name]> } & {
  [Name in Optional<Of>]?: ValueOf<Of[Name]> | undefined;
};

/** What a kind has of its sender. `resolve` and `sign` throw for a variable that the worker does not have. */
type Sending = {
  id: string;
  /** The secret behind a reference. */
  resolve(reference: string): string;
  /** Headers of Standard Webhooks. */
  sign(secret: string, json: string): Record<string, string>;
};
/** `path`: below the address of the channel. */
type Post = {
  json: string;
  path?: string;
  headers?: Record<string, string>;
  basic?: { username: string; password: string };
};
export type Mail = { subject: string; text: string; html: string; messageId: string; inReplyTo: string };

export type ChannelKindOf<Name extends string, Of extends ChannelSettings, Config> = {
  kind: Name;
  /** The name people use: `Microsoft Teams`. */
  name: string;
  /** In the order of the form. */
  settings: Of;
  /** Its requests can have a token of OAuth 2.0. */
  oauth?: true;
  /** It keeps a record for each rule, and closes it: each rule needs its own message there. */
  keepsRecords?: true;
  /** It knows that somebody looks at an alert. */
  knowsAcknowledged?: true;
  /** It ends an alert that is not sent again in time, and silences by itself; absent = the rule says when it is repeated. */
  repeatMs?: number;
  /** What two settings together may not be, by the field. */
  fault?(config: Config): { field: string; detail: string } | null;
} & (
  | { post(message: AlertMessage, config: Config, sending: Sending): Post }
  | { mail(message: AlertMessage, id: string): Mail }
);

export function channelKind<const Name extends string, const Of extends ChannelSettings>(
  kind: ChannelKindOf<Name, Of, ChannelValues<Of>>,
) {
  return kind;
}

export const BY_NAME = "the variable of web and worker that holds it";
export const envName = (name: string) => `env:PARKADE_SECRET_${name}`;
/** The address of an incoming webhook is its secret. */
export const secretAddress = (label: string, name: string) =>
  ({ input: "secret", label, placeholder: envName(name), hint: `${BY_NAME}: the address is its secret` }) as const;
/** `hint`: of the password. */
export const credentials = (name: string, hint: string = BY_NAME) =>
  ({
    username: { input: "text", label: "user", placeholder: "parkade", optional: true },
    password: { input: "secret", label: "password", placeholder: envName(name), hint, optional: true },
  }) as const;
