/** Why a sign-in at the provider led to no session, in the words of the sign-in page. */
export const OIDC_REFUSALS = {
  none: "Nobody signs in at a provider here: use name and password.",
  often: "Too many sign-ins began at your address: wait a minute.",
  late: "The sign-in took more than ten minutes, or it began in another browser: begin it again here.",
  refused: "The provider did not let you in, or you stopped there.",
  invalid: "The answer of the provider is not valid: begin again, and tell an administrator when that does not help.",
  weak: "The provider does not say that you signed in as this console demands, such as with a second factor: set it up there, or ask an administrator.",
  stale:
    "The provider does not say that you signed in there as lately as this console demands: sign in there anew, or ask an administrator.",
  unavailable: "The provider does not answer in time: try again in a while.",
  "no-role": "You are in none of the groups that may use this console: ask an administrator.",
  "no-name": "The provider sends no name that can stand in the audit: ask an administrator.",
  "name-taken": "Another account has your name: ask an administrator to disable it, or the provider for another name.",
  disabled: "Your account is disabled: ask an administrator.",
} as const;
export type OidcRefusalReason = keyof typeof OIDC_REFUSALS;

export class OidcRefusal extends Error {
  readonly reason: OidcRefusalReason;

  constructor(reason: OidcRefusalReason, cause?: unknown) {
    super(OIDC_REFUSALS[reason], { cause });
    this.name = "OidcRefusal";
    this.reason = reason;
  }
}
