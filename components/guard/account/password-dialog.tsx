"use client";

import { useState } from "react";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { useChangePassword } from "@/lib/guard/accounts/accounts.browser";
import { passwordFault } from "@/lib/guard/sign-in/password.pure";
import { useMe } from "@/lib/guard/viewer/me.browser";
import { CodeField } from "./proof-fields";

/** @param needsCode the account has a second factor */
export function PasswordDialog({ needsCode, onClose }: { needsCode: boolean; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const [next, setNext] = useState("");
  const [code, setCode] = useState("");
  const { data: me } = useMe();
  const change = useChangePassword();
  const fault = passwordFault(next, me?.name ?? "");
  return (
    <ReasonDialog
      needs={null}
      title="Change the password"
      description="Your other sessions and all your tokens end with it."
      verb="Change it"
      reason="none"
      onClose={onClose}
      onSubmit={async () => {
        if (fault !== null || password === "" || (needsCode && code.trim() === "")) return "stay";
        await change.mutateAsync({ password, newPassword: next, ...(needsCode && { code }) });
        return { title: "The password is changed", tone: "success" };
      }}
    >
      {(pressed) => (
        <div className="grid gap-3">
          <TextField
            label="The present one"
            type="password"
            autoComplete="current-password"
            error={pressed && password === "" ? "Type it" : null}
            value={password}
            onValue={setPassword}
          />
          <TextField
            label="The new one"
            hint="12 characters or more: four words by chance are good."
            type="password"
            autoComplete="new-password"
            error={pressed && fault !== null ? `The password ${fault}` : null}
            value={next}
            onValue={setNext}
          />
          {needsCode ? (
            <CodeField
              hint="That your app shows now, or a recovery code."
              error={pressed && code.trim() === "" ? "Type it" : null}
              value={code}
              onValue={setCode}
            />
          ) : null}
        </div>
      )}
    </ReasonDialog>
  );
}
