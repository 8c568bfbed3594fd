"use client";

import { useState } from "react";
import {
  type Givable,
  namedSources,
  type RightsDraft,
  RightsFields,
  sourcesFault,
} from "@/components/guard/people/rights-fields";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { useMakeToken } from "@/lib/guard/accounts/accounts.browser";
import { useProof } from "./proof-fields";
import { ShownOnce } from "./shown-once";

const DAYS = [7, 30, 90, 365].map((days) => ({ value: String(days), label: `${days} days` }));

/**
 * @param account id of the service account; null = the own one
 * @param givable what the account may: a token is given no more
 */
export function TokenDialog(props: { account: string | null; givable: Givable; onClose: () => void }) {
  const { account, givable, onClose } = props;
  const [name, setName] = useState("");
  const [days, setDays] = useState("90");
  const [rights, setRights] = useState<RightsDraft>({ actions: [], sources: null });
  const [secret, setSecret] = useState<string | null>(null);
  const make = useMakeToken(account);
  const { fields, proving } = useProof();
  if (secret !== null) {
    return (
      <ShownOnce title="The token" label="the token" text={secret} done="Done" onClose={onClose}>
        Send it as Authorization: Bearer, or give it to the command line as PARKADE_TOKEN. It is not shown again.
      </ShownOnce>
    );
  }
  const sources = namedSources(rights);
  return (
    <ReasonDialog
      needs={null}
      answersOnce
      title="Create a token"
      description="It has at most the permissions of its account."
      verb="Create token"
      reason="none"
      onClose={onClose}
      onSubmit={async () => {
        if (name.trim() === "" || sourcesFault(rights) !== null) return "stay";
        const made = await proving((proof) =>
          make.mutateAsync({
            name: name.trim(),
            days: Number(days),
            ...(rights.actions.length > 0 ? { actions: rights.actions } : {}),
            ...(sources === null ? {} : { sources }),
            ...(proof && { proof }),
          }),
        );
        setSecret(made.secret);
        return "stay";
      }}
    >
      {(pressed) => (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
          <TextField
            label="Name"
            hint="What it is for: a service, a script, a machine."
            error={pressed && name.trim() === "" ? "Enter what it is for" : null}
            maxLength={100}
            value={name}
            onValue={setName}
          />
          <SelectField label="Expires in" options={DAYS} value={days} onValue={setDays} />
          <RightsFields
            draft={rights}
            set={setRights}
            givable={givable}
            pressed={pressed}
            actionsHint="Select none to allow everything its account may do, except approve."
            everySource="all sources that its account can see"
          />
          {fields}
        </div>
      )}
    </ReasonDialog>
  );
}
