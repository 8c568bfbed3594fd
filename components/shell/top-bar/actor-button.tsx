"use client";

import { UserRound } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/input";
import { MenuButton, PopoverButton } from "@/components/ui/popup-button";
import { TextLink } from "@/components/ui/text-link";
import { failureToast } from "@/components/ui/toast";
import { signOut } from "@/lib/guard/accounts/accounts.browser";
import { forgetPerson } from "@/lib/guard/sign-in/kept-in-tab.browser";
import { actorFault, setActorName, useActorName } from "@/lib/guard/viewer/actor.browser";
import { useMe } from "@/lib/guard/viewer/me.browser";

function ActorForm({ onDone }: { onDone: () => void }) {
  const actor = useActorName();
  const [name, setName] = useState(actor ?? "");
  const fault = actorFault(name);
  return (
    <form
      className="flex w-64 flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (fault) return;
        setActorName(name);
        onDone();
      }}
    >
      <TextField
        label="Your name"
        hint="Shown in the audit log for everything you change from this browser."
        error={fault}
        value={name}
        maxLength={100}
        onValue={setName}
      />
      <div className="flex items-center justify-between gap-2">
        <TextLink href="/people" onClick={onDone}>
          Accounts and sign-in
        </TextLink>
        <Button type="submit" variant="primary">
          Save
        </Button>
      </div>
    </form>
  );
}

/** Who uses this browser: the account that has signed in, else the name that the person gives itself. */
export function ActorButton() {
  const { data: me } = useMe();
  return me?.means === "session" && me.name !== null ? <AccountMenu name={me.name} /> : <NameButton />;
}

function AccountMenu({ name }: { name: string }) {
  return (
    <MenuButton
      name={`Signed in as ${name}`}
      tip={`Signed in as ${name}`}
      label={
        <>
          <UserRound size={14} aria-hidden />
          <span className="hidden max-w-24 truncate lg:inline">{name}</span>
        </>
      }
      variant="ghost"
      className="px-1.5!"
      entries={[
        { kind: "heading", id: "name", label: name },
        { kind: "link", id: "account", label: "Account", href: "/account" },
        { kind: "separator", id: "line" },
        {
          id: "out",
          label: "Sign out",
          needs: null,
          onSelect: () =>
            void signOut()
              .then(({ next }) => {
                forgetPerson(true);
                window.location.assign(next ?? "/sign-in");
              })
              .catch((error: unknown) => failureToast("You are still signed in", error)),
        },
      ]}
    />
  );
}

/** Without sign-in Parkade cannot verify the name. */
function NameButton() {
  const actor = useActorName();
  return (
    <PopoverButton
      name={actor ? `You are acting as ${actor}` : "No name set: enter your name"}
      tip={actor ? `You are acting as ${actor}` : "Enter your name: the audit log records it"}
      label={
        <>
          <UserRound size={14} aria-hidden />
          <span className={`hidden max-w-24 truncate lg:inline ${actor ? "" : "text-warning"}`}>
            {actor ?? "no name set"}
          </span>
        </>
      }
      variant="ghost"
      align="end"
      className="px-1.5!"
    >
      {(close) => <ActorForm onDone={close} />}
    </PopoverButton>
  );
}
