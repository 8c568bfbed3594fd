/** Why a sign-in at the provider led to no session, in the words of the sign-in page. */
export const OIDC_REFUSALS = {
  none: "Sign-in with a provider is not set up here: use name and password.",
  often: "Too many sign-ins were started from your address: wait a minute.",
  late: "The sign-in took more than ten minutes, or was started in another browser: start again here.",
  refused: "The provider did not let you in, or you stopped there.",
  invalid: "The answer of the provider is not valid: start again, and tell an administrator if that does not help.",
  weak: "The provider does not confirm that you signed in as this console requires, such as with a second factor: set it up there, or ask an administrator.",
  stale:
    "The provider does not confirm that you signed in there as recently as this console requires: sign in there again, or ask an administrator.",
  unavailable: "The provider does not answer in time: try again in a while.",
  "no-role": "You are in none of the groups that may use this console: ask an administrator.",
  "no-name": "The provider sends no name that the audit log can use: ask an administrator.",
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
