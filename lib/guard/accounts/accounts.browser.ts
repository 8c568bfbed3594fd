import { keepPreviousData } from "@tanstack/react-query";
import type {
  AccountChange,
  AccountList,
  AccountOut,
  LinkUse,
  NewAccount,
  PasswordChange,
  SessionOut,
  SignIn,
} from "@/lib/guard/accounts/accounts.shapes";
import type { TokenOut, TokenRequest } from "@/lib/guard/tokens/tokens.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { useChange, useRead } from "@/lib/platform/browser/resource.browser";

const BASE = "/api/v1";
const at = (id: string) => `${BASE}/accounts/${encodeURIComponent(id)}`;

const useAccountChange = <Answer, Input>(send: (input: Input) => Promise<Answer>) =>
  useChange("accounts", send, { refused: true });

const post = <Answer>(path: string, body?: unknown) => fetchJson<Answer>(`${BASE}/${path}`, { method: "POST", body });
const remove = (path: string, body?: unknown) => fetchJson<void>(`${BASE}/${path}`, { method: "DELETE", body });

/** The cookie of the answer signs the browser in; the page is loaded anew, so that nothing of another person stays. */
export const signIn = (input: SignIn) => post<void>("sign-in", input);
/** Answers with where the browser goes on to sign out at the OpenID provider, too. */
export const signOut = () => post<{ next: string | null }>("sign-out");

type LinkShown = { purpose: "setup" | "invitation" | "reset"; name: string | null; expiresAt: string };
export const lookAtLink = (secret: string) => post<LinkShown>("account-links/look", { secret });
export const takeLink = (use: LinkUse) => post<{ signedIn: boolean }>("account-links/use", use);

/** @param name a part of the names; empty = all accounts */
export function useAccounts(name: string) {
  const query = name === "" ? "" : `?${new URLSearchParams({ name })}`;
  return useRead<AccountList>("accounts", `${BASE}/accounts${query}`, {
    placeholderData: keepPreviousData,
  });
}

export const useCreateAccount = () =>
  useAccountChange((account: NewAccount) => post<{ account: AccountOut; link: string | null }>("accounts", account));

export const useChangeAccount = () =>
  useAccountChange(({ id, ...change }: AccountChange & { id: string }) =>
    fetchJson<AccountOut>(at(id), { method: "PATCH", body: change }),
  );

export const useMakeLink = () =>
  useAccountChange((id: string) =>
    fetchJson<{ link: string; expiresAt: string }>(`${at(id)}/link`, { method: "POST" }),
  );

export const useEndSessions = () =>
  useAccountChange((id: string) => remove(`accounts/${encodeURIComponent(id)}/sessions`));
export const useRemoveTotpOf = () =>
  useAccountChange((id: string) => remove(`accounts/${encodeURIComponent(id)}/totp`));

type OwnAccount = {
  account: AccountOut;
  totp: { since: string | null; recoveryCodesLeft: number; demanded: boolean };
};

export const useOwnAccount = () => useRead<OwnAccount>("own-account", `${BASE}/account`);

export const useOwnSessions = () => useRead<{ items: SessionOut[] }>("own-account", `${BASE}/account/sessions`);

export const useChangePassword = () =>
  useAccountChange((change: PasswordChange) => post<void>("account/password", change));
export const useOfferTotp = () =>
  useAccountChange((proof: { password: string }) => post<{ secret: string; uri: string }>("account/totp", proof));
export const useConfirmTotp = () =>
  useAccountChange((proof: { code: string }) => post<{ recoveryCodes: string[] }>("account/totp/confirm", proof));
export const useRemoveTotp = () =>
  useAccountChange((proof: { password: string; code: string }) => remove("account/totp", proof));
/** @param which id of a session, or `others` */
export const useEndOwnSession = () =>
  useAccountChange((which: string) => remove(which === "others" ? "account/sessions" : `account/sessions/${which}`));

const tokensOf = (account: string | null) =>
  account === null ? "tokens" : `accounts/${encodeURIComponent(account)}/tokens`;

export const useTokens = (account: string | null) =>
  useRead<{ items: TokenOut[] }>("accounts", `${BASE}/${tokensOf(account)}`);

export const useMakeToken = (account: string | null) =>
  useAccountChange((wanted: TokenRequest) => post<{ token: TokenOut; secret: string }>(tokensOf(account), wanted));
export const useRevokeToken = () => useAccountChange((id: string) => remove(`tokens/${encodeURIComponent(id)}`));
