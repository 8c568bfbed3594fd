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
      title="Change the password"
      description="Your other sessions and all your tokens end with it."
      verb="Change it"
      reason="none"
      initial={() => ({ password: "", newPassword: "", code: "" })}
      request={({ code, ...typed }) => {
        const fault = passwordFault(typed.newPassword, me?.name ?? "");
        const errors = {
          ...(typed.password === "" && { password: "Type it" }),
          ...(fault !== null && { newPassword: `The password ${fault}` }),
          ...(needsCode && code.trim() === "" && { code: "Type it" }),
        };
        if (Object.keys(errors).length > 0) return { ok: false, errors };
        return { ok: true, request: { ...typed, ...(needsCode && { code }) } };
      }}
      save={async (request) => {
        await change.mutateAsync(request);
        return "The password is changed";
      }}
      onClose={onClose}
    >
      {({ text }) => (
        <div className="grid gap-3">
          <TextField {...text("password")} label="The present one" type="password" autoComplete="current-password" />
          <TextField
            {...text("newPassword")}
            label="The new one"
            hint="At least 12 characters; four random words work well."
            type="password"
            autoComplete="new-password"
          />
          {needsCode ? <CodeField {...text("code")} hint="That your app shows now, or a recovery code." /> : null}
        </div>
      )}
    </DraftDialog>
  );
}
