"use client";

import { ConfirmButton, DialogButton } from "@/components/ui/dialog-button";
import { ReadError } from "@/components/ui/error-panel";
import { Panel } from "@/components/ui/panel";
import { Head, Table, Td, Tr } from "@/components/ui/table";
import { TimeAgo } from "@/components/ui/time-ago";
import { useRevokeToken, useTokens } from "@/lib/guard/accounts/accounts.browser";
import type { AccountOut } from "@/lib/guard/accounts/accounts.shapes";
import { actionsOf } from "@/lib/guard/accounts/role.pure";
import type { TokenOut } from "@/lib/guard/tokens/tokens.shapes";
import { useMe } from "@/lib/guard/viewer/me.browser";
import { ACTIONS } from "@/lib/guard/viewer/viewer.pure";
import { useNow } from "@/lib/platform/browser/clock-zone.browser";
import { TokenDialog } from "./token-dialog";

/** Tokens of your own account, or of a service account. @param account the service account; null = the own one */
export function Tokens({ account }: { account: AccountOut | null }) {
  const id = account?.id ?? null;
  const { data: me } = useMe();
  const may = account === null ? me : { actions: actionsOf(account), sources: account.sources ?? ("all" as const) };
  const tokens = useTokens(id);
  const items = tokens.data?.items ?? [];
  return (
    <Panel
      title="Tokens"
      actions={
        <DialogButton
          size="sm"
          disabled={may === undefined}
          dialog={(onClose) => (
            <TokenDialog
              account={id}
              givable={{ ...may!, actions: may!.actions === "all" ? ACTIONS : may!.actions }}
              onClose={onClose}
            />
          )}
        >
          Create token…
        </DialogButton>
      }
    >
      <ReadError read={tokens} stale={items.length > 0} />
      {tokens.isSuccess && items.length === 0 ? (
        <p className="p-3 text-muted">
          {account === null
            ? "No tokens yet. A token lets the command line and your scripts act as you."
            : "No tokens yet. A token lets a service act as this account."}
        </p>
      ) : null}
      {items.length > 0 ? (
        <Table aria-label="Tokens">
          <Head columns={["Name", "Begins with", "Permissions", "Last used", "Expires", { unseen: "Actions" }]} />
          <tbody>
            {items.map((token) => (
              <Row key={token.id} token={token} />
            ))}
          </tbody>
        </Table>
      ) : null}
    </Panel>
  );
}

/** When the owner of a token must have signed in at the OpenID provider again. */
function SignInBy({ at }: { at: string }) {
  const now = useNow();
  const due = now > 0 && Date.parse(at) <= now;
  return (
    <span className={`block text-sm ${due ? "text-danger" : "text-muted"}`}>
      {due ? (
        "stopped until its owner signs in"
      ) : (
        <>
          sign-in due <TimeAgo at={at} />
        </>
      )}
    </span>
  );
}

function Row({ token }: { token: TokenOut }) {
  const revoke = useRevokeToken();
  const now = useNow();
  const ended = token.revokedAt !== null || (now > 0 && Date.parse(token.expiresAt) <= now);
  const needsSignIn = !ended && token.signInBy !== null && token.signInBy < token.expiresAt;
  return (
    <Tr className={ended ? "text-muted" : undefined}>
      <Td>
        <span className="block max-w-60 truncate">{token.name}</span>
      </Td>
      <Td className="font-mono text-sm">{token.hint}…</Td>
      <Td>
        <span className="block max-w-60 truncate">
          {token.actions?.join(", ") ?? "everything the account may do, except approve"}
          {token.sources ? `, in ${token.sources.join(", ")}` : ""}
        </span>
      </Td>
      <Td>{token.usedAt === null ? "never" : <TimeAgo at={token.usedAt} />}</Td>
      <Td>
        {token.revokedAt === null ? <TimeAgo at={token.expiresAt} /> : "revoked"}
        {needsSignIn ? <SignInBy at={token.signInBy!} /> : null}
      </Td>
      <Td>
        {ended ? null : (
          <ConfirmButton
            size="sm"
            aria-label={`Revoke ${token.name}`}
            confirm={{
              stops: true,
              title: `Revoke ${token.name}?`,
              description:
                "Anything that uses this token is rejected at once. A revoked token cannot be restored; create a new one.",
              verb: "Revoke",
              variant: "danger",
              reason: "none",
              onSubmit: () => revoke.mutateAsync(token.id),
            }}
          >
            Revoke…
          </ConfirmButton>
        )}
      </Td>
    </Tr>
  );
}
