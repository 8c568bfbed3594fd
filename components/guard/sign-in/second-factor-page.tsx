"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useSearchParams } from "next/navigation";
import { useEffect, useState } from "react";
import { AddSecondFactorDialog } from "@/components/guard/account/second-factor-dialogs";
import { Button } from "@/components/ui/button";
import { failureToast } from "@/components/ui/toast";
import { signOut } from "@/lib/guard/accounts/accounts.browser";
import { forgetPerson } from "@/lib/guard/sign-in/kept-in-tab.browser";
import { returnPath } from "@/lib/guard/sign-in/return-path.pure";
import { useMe } from "@/lib/guard/viewer/me.browser";
import { keys } from "@/lib/platform/browser/keys.browser";
import { SignInCard } from "./sign-in-card";

/** Where whoever must add a second factor is sent: until it is added, the server answers nothing else. */
export function SecondFactorPage() {
  const to = returnPath(useSearchParams().get("to"));
  const { data: me } = useMe();
  const client = useQueryClient();
  const [adding, setAdding] = useState(false);
  const needed = me?.secondFactorNeeded;
  useEffect(() => {
    // While the dialog is open, the recovery codes may stand in it, which are shown once.
    if (needed === false && !adding) window.location.replace(to);
  }, [needed, adding, to]);
  const leave = () =>
    void signOut()
      .then(({ next }) => {
        forgetPerson(true);
        window.location.assign(next ?? "/sign-in");
      })
      .catch((error: unknown) => failureToast("You are still signed in", error));
  const close = () => void client.invalidateQueries({ queryKey: keys.me }).then(() => setAdding(false));
  return (
    <SignInCard title={needed ? "Add a second factor" : "Loading…"}>
      {needed ? (
        <>
          <p>
            Your role requires a second factor in addition to the password, and your account has none. Add one to open
            the console.
          </p>
          <div className="grid gap-2">
            <Button variant="primary" className="h-8!" onClick={() => setAdding(true)}>
              Add a second factor…
            </Button>
            <Button className="h-8!" onClick={leave}>
              Sign out
            </Button>
          </div>
          <p className="text-sm text-muted">Signed in as {me?.name}.</p>
        </>
      ) : null}
      {adding ? <AddSecondFactorDialog onClose={close} /> : null}
    </SignInCard>
  );
}
