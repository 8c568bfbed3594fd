"use client";

import { useSearchParams } from "next/navigation";
import { useEffect, useState } from "react";
import { Button, buttonClass } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { TextField } from "@/components/ui/input";
import { useHydrated } from "@/components/ui/use-hydrated";
import { submits, useSubmit } from "@/components/ui/use-submit";
import { signIn } from "@/lib/guard/accounts/accounts.browser";
import { OIDC_REFUSALS, type OidcRefusalReason } from "@/lib/guard/oidc/oidc-refusal.pure";
import { forgetPerson } from "@/lib/guard/sign-in/kept-in-tab.browser";
import { returnPath } from "@/lib/guard/sign-in/return-path.pure";
import { useMe } from "@/lib/guard/viewer/me.browser";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { SignInCard } from "./sign-in-card";

export function SignInPage() {
  const params = useSearchParams();
  const { data: me } = useMe();
  const to = returnPath(params.get("to"));
  const reason = params.get("refused") ?? "";
  const refused = Object.hasOwn(OIDC_REFUSALS, reason) ? OIDC_REFUSALS[reason as OidcRefusalReason] : undefined;
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  /** null = none was asked for. */
  const [code, setCode] = useState<string | null>(null);
  const { busy, error, submit } = useSubmit();
  const hydrated = useHydrated();
  // Whoever signs in now may be another person, by whichever way.
  useEffect(() => forgetPerson(), []);
  const go = () =>
    submit(async () => {
      try {
        await signIn({ name, password, ...(code === null ? {} : { code }) });
      } catch (failure) {
        if (!(failure instanceof ApiError) || failure.code !== "code-required") throw failure;
        setCode("");
        return;
      }
      // Loaded anew: nothing that another person has read stays in this page.
      window.location.assign(to);
      await new Promise(() => undefined);
    });
  return (
    <SignInCard title="Sign in to Parkade">
      {refused === undefined ? null : (
        <p role="alert" className="rounded-md border border-l-2 border-danger bg-surface px-3 py-2">
          {refused}
        </p>
      )}
      {me?.signIn.oidc ? (
        <>
          {/* No link of the framework: it would fetch the address ahead, and each fetch begins a sign-in. */}
          <a
            href={`/sign-in/oidc/start?to=${encodeURIComponent(to)}`}
            className={buttonClass({ variant: "primary" }, "h-8! min-w-0 wrap-anywhere")}
          >
            Sign in with {me.signIn.oidc}
          </a>
          {me.signIn.password ? (
            <p className="flex items-center gap-3 text-sm text-muted before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
              or with a password
            </p>
          ) : null}
        </>
      ) : null}
      {me?.signIn.password === false ? null : (
        <>
          <form className="grid grid-cols-[minmax(0,1fr)] gap-3" onSubmit={submits(go)}>
            {error ? <ErrorPanel error={error} inline title="You are not signed in" /> : null}
            <TextField
              label="Name"
              autoComplete="username"
              autoFocus
              required
              maxLength={128}
              value={name}
              onValue={setName}
            />
            <TextField
              label="Password"
              type="password"
              autoComplete="current-password"
              required
              value={password}
              onValue={setPassword}
            />
            {code === null ? null : (
              <TextField
                label="Code"
                hint="The current code in your app, or a recovery code."
                autoComplete="one-time-code"
                autoFocus
                required
                maxLength={40}
                value={code}
                onValue={setCode}
                inputClassName="font-mono"
              />
            )}
            <Button
              type="submit"
              variant={me?.signIn.oidc ? "secondary" : "primary"}
              busy={busy}
              disabled={!hydrated}
              className="mt-1 h-8!"
            >
              Sign in
            </Button>
          </form>
          {me?.signIn.accounts === false ? (
            <p className="text-sm text-muted">
              There are no accounts yet. The link to create the first one was printed when Parkade started: in its
              terminal, or in the log of the web process.
            </p>
          ) : (
            <p className="text-sm text-muted">No password yet? Ask an administrator for a link to choose one.</p>
          )}
        </>
      )}
    </SignInCard>
  );
}
