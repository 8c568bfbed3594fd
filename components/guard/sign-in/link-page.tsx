"use client";

import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Button } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { TextField } from "@/components/ui/input";
import { submits, useSubmit } from "@/components/ui/use-submit";
import { lookAtLink, takeLink } from "@/lib/guard/accounts/accounts.browser";
import { forgetPerson } from "@/lib/guard/sign-in/kept-in-tab.browser";
import { passwordFault } from "@/lib/guard/sign-in/password.pure";
import { actorFault } from "@/lib/guard/viewer/actor.browser";
import { SignInCard } from "./sign-in-card";

const TITLES = {
  setup: "The first administrator",
  invitation: "Choose a password",
  reset: "Choose a new password",
} as const;

/** Opened by a one-time link, whose secret stands behind `#`. */
export function LinkPage() {
  const [secret, setSecret] = useState<string | null>(null);
  useEffect(() => {
    const given = window.location.hash.slice(1);
    // React runs an effect twice in development, and the second run finds the address without it.
    setSecret((known) => known || given);
    // Out of the address, the history and whatever is told of them.
    if (given !== "") window.history.replaceState(null, "", window.location.pathname);
  }, []);
  const link = useQuery({
    queryKey: ["account-link", secret],
    queryFn: () => lookAtLink(secret ?? ""),
    enabled: secret !== null && secret !== "",
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (secret === "") {
    return (
      <SignInCard title="This link is incomplete">
        <p>Open the complete link that you were given, including everything after the #.</p>
      </SignInCard>
    );
  }
  if (link.isError) {
    return (
      <SignInCard title="The link cannot be used">
        <ErrorPanel error={link.error} inline />
      </SignInCard>
    );
  }
  if (!link.data || !secret) return <SignInCard title="Loading…">{null}</SignInCard>;
  return (
    <SignInCard title={TITLES[link.data.purpose]}>
      <ChoosePassword secret={secret} known={link.data.name} />
    </SignInCard>
  );
}

/** @param known the name of the account; null = it is chosen here */
function ChoosePassword({ secret, known }: { secret: string; known: string | null }) {
  const [name, setName] = useState(known ?? "");
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const [pressed, setPressed] = useState(false);
  const { busy, error, submit } = useSubmit();
  const nameFault = name.trim() === "" ? "Enter the name to show in the audit log" : actorFault(name);
  const fault = passwordFault(password, name);
  const faults = {
    name: known === null ? nameFault : null,
    password: fault && `The password ${fault}`,
    again: again === password ? null : "The passwords do not match",
  };
  const press = () => {
    setPressed(true);
    if (faults.name || faults.password || faults.again) return;
    void submit(async () => {
      const { signedIn } = await takeLink({ secret, password, ...(known === null ? { name } : {}) });
      forgetPerson(true);
      // An account with a second factor is signed in by a code alone.
      window.location.assign(signedIn ? "/" : "/sign-in");
      await new Promise(() => undefined);
    });
  };
  return (
    <form className="grid grid-cols-[minmax(0,1fr)] gap-3" onSubmit={submits(press)}>
      {error ? <ErrorPanel error={error} inline title="Request failed" /> : null}
      <TextField
        label="Name"
        hint={known === null ? "Shown in the audit log. You sign in with it." : undefined}
        error={pressed ? faults.name : null}
        autoComplete="username"
        readOnly={known !== null}
        maxLength={128}
        value={name}
        onValue={setName}
      />
      <TextField
        label="Password"
        hint="At least 12 characters; four random words work well."
        error={pressed ? faults.password : null}
        type="password"
        autoComplete="new-password"
        value={password}
        onValue={setPassword}
      />
      <TextField
        label="Confirm the password"
        error={pressed ? faults.again : null}
        type="password"
        autoComplete="new-password"
        value={again}
        onValue={setAgain}
      />
      <Button type="submit" variant="primary" busy={busy} className="mt-1 h-8!">
        Set the password and sign in
      </Button>
    </form>
  );
}
