"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { DraftDialog } from "@/components/ui/draft-dialog";
import { EmptyState } from "@/components/ui/empty-state";
import { ReadError } from "@/components/ui/error-panel";
import { TextField } from "@/components/ui/input";
import { PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { TimeAgo } from "@/components/ui/time-ago";
import { useChangePassword, useOwnAccount } from "@/lib/guard/accounts/accounts.browser";
import { passwordFault } from "@/lib/guard/sign-in/password.pure";
import { useMe } from "@/lib/guard/viewer/me.browser";
import { OwnSessions } from "./own-sessions";
import { CodeField } from "./proof-fields";
import { AddSecondFactorDialog, RemoveSecondFactorDialog } from "./second-factor-dialogs";
import { Tokens } from "./tokens";

type Open = "password" | "add" | "remove" | null;

export function AccountPage() {
  const { data: me } = useMe();
  if (me && me.means !== "session") {
    return (
      <>
        <PageHeader title="Account" />
        <EmptyState title="You have not signed in">
          Anyone on this machine can use Parkade without an account. After you sign in, your password, second factor,
          sessions and tokens are shown here.
        </EmptyState>
      </>
    );
  }
  return me ? <Own /> : <PageHeader title="Account" />;
}

function Own() {
  const own = useOwnAccount();
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  const account = own.data?.account;
  const totp = own.data?.totp;
  return (
    <>
      <PageHeader title="Account" meta={account ? `${account.name} · ${account.role}` : undefined} />
      <ReadError read={own} stale={account !== undefined} />
      <div className="grid max-w-240 grid-cols-[minmax(0,1fr)] gap-3 px-3 pb-6">
        {account && totp ? (
          <Panel title="How you sign in">
            <dl className="grid grid-cols-[8rem_minmax(0,1fr)_auto] items-center gap-x-4 gap-y-3 p-3 [&_button]:w-full">
              <dt className="text-muted">Password</dt>
              <dd>{account.hasPassword ? "set" : "none: you sign in through your identity provider"}</dd>
              <dd>{account.hasPassword ? <Button onClick={() => setOpen("password")}>Change…</Button> : null}</dd>
              <dt className="text-muted">Second factor</dt>
              <dd>
                {!account.hasPassword ? (
                  "managed by your identity provider"
                ) : totp.since === null ? (
                  "none"
                ) : (
                  <>
                    since <TimeAgo at={totp.since} />, {totp.recoveryCodesLeft} recovery codes left
                  </>
                )}
              </dd>
              <dd>
                {!account.hasPassword ? null : totp.since === null ? (
                  <Button onClick={() => setOpen("add")}>Add…</Button>
                ) : (
                  <Button variant="danger" onClick={() => setOpen("remove")}>
                    Remove…
                  </Button>
                )}
              </dd>
              <dt className="text-muted">Sources</dt>
              <dd className="col-span-2 wrap-anywhere">{account.sources?.join(", ") ?? "all"}</dd>
            </dl>
          </Panel>
        ) : null}
        <OwnSessions />
        <Tokens account={null} />
      </div>
      {open === "password" ? <PasswordDialog needsCode={typeof totp?.since === "string"} onClose={close} /> : null}
      {open === "add" ? <AddSecondFactorDialog onClose={close} /> : null}
      {open === "remove" ? <RemoveSecondFactorDialog demanded={totp?.demanded === true} onClose={close} /> : null}
    </>
  );
}

/** @param needsCode the account has a second factor */
function PasswordDialog({ needsCode, onClose }: { needsCode: boolean; onClose: () => void }) {
  const { data: me } = useMe();
  const change = useChangePassword();
  return (
    <DraftDialog
      needs={null}
      title="Change password"
      description="This signs out your other sessions and revokes all your tokens."
      verb="Change password"
      reason="none"
      initial={() => ({ password: "", newPassword: "", code: "" })}
      request={({ code, ...typed }) => {
        const fault = passwordFault(typed.newPassword, me?.name ?? "");
        const errors = {
          ...(typed.password === "" && { password: "Enter your password" }),
          ...(fault !== null && { newPassword: `The password ${fault}` }),
          ...(needsCode && code.trim() === "" && { code: "Enter the code" }),
        };
        if (Object.keys(errors).length > 0) return { ok: false, errors };
        return { ok: true, request: { ...typed, ...(needsCode && { code }) } };
      }}
      save={async (request) => {
        await change.mutateAsync(request);
        return "Password changed";
      }}
      onClose={onClose}
    >
      {({ text }) => (
        <div className="grid gap-3">
          <TextField {...text("password")} label="Current password" type="password" autoComplete="current-password" />
          <TextField
            {...text("newPassword")}
            label="New password"
            hint="At least 12 characters; four random words work well."
            type="password"
            autoComplete="new-password"
          />
          {needsCode ? <CodeField {...text("code")} hint="The current code in your app, or a recovery code." /> : null}
        </div>
      )}
    </DraftDialog>
  );
}
