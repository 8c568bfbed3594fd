"use client";

import { UserRound } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/input";
import { PopoverButton } from "@/components/ui/popup-button";
import { actorFault, setActorName, useActorName } from "@/lib/guard/viewer/actor.browser";

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
        hint="Stands in the audit beside everything you change from this browser."
        error={fault}
        value={name}
        maxLength={100}
        onValue={setName}
      />
      <Button type="submit" variant="primary" className="self-end">
        Save
      </Button>
    </form>
  );
}

/** The name of the person in this browser. Without sign-in Parkade cannot verify it. */
export function ActorButton() {
  const actor = useActorName();
  return (
    <PopoverButton
      name={actor ? `You act as ${actor}` : "You act as local: say who you are"}
      tip={actor ? `You act as ${actor}` : "Say who you are: the audit records your name"}
      label={
        <>
          <UserRound size={14} aria-hidden />
          {/* The name in the audit, `local` without one. */}
          <span className={`hidden max-w-24 truncate lg:inline ${actor ? "" : "text-warning"}`}>
            {actor ?? "local"}
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
