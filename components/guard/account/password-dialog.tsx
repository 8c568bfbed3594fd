"use client";

import { DraftDialog } from "@/components/ui/draft-dialog";
import { TextField } from "@/components/ui/input";
import { useChangePassword } from "@/lib/guard/accounts/accounts.browser";
import { passwordFault } from "@/lib/guard/sign-in/password.pure";
import { useMe } from "@/lib/guard/viewer/me.browser";
import { CodeField } from "./proof-fields";

/** @param needsCode the account has a second factor */
export function PasswordDialog({ needsCode, onClose }: { needsCode: boolean; onClose: () => void }) {
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
