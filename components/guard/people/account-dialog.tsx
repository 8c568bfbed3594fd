"use client";

import { useState } from "react";
import { ShownOnce } from "@/components/guard/account/shown-once";
import { Choice, TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { useChangeAccount, useCreateAccount } from "@/lib/guard/accounts/accounts.browser";
import type { AccountOut } from "@/lib/guard/accounts/accounts.shapes";
import { OF_PERSONS, ROLE_ACTIONS, ROLES, type Role, SERVICE_ROLES } from "@/lib/guard/accounts/role.pure";
import { actorFault } from "@/lib/guard/viewer/actor.browser";
import { ACTIONS } from "@/lib/guard/viewer/viewer.pure";
import { namedSources, type RightsDraft, RightsFields, sourcesFault } from "./rights-fields";

const optionsOf = (roles: readonly Role[]) => roles.map((role) => ({ value: role, label: role }));
const ROLE_OPTIONS = { person: optionsOf(ROLES), service: optionsOf(SERVICE_ROLES) };

const KIND_OPTIONS = [
  { value: "person", label: "person (signs in)" },
  { value: "service", label: "service account (tokens only)" },
] as const;

const ROLE_WORDS: Record<Role, string> = {
  viewer: "Sees events, redrives and the audit, and changes nothing.",
  operator: "Redrives, mends, ignores and controls events, and sees payloads.",
  approver: "Does everything an operator does, and approves requests of others.",
  admin: "Does everything. Accounts and settings require access to all sources.",
};

/**
 * Makes an account, or changes the rights of one. A new one is given little until somebody chooses more; the first one is to be an
 * administrator of all sources.
 * @param account null = a new one
 * @param passwords false = nobody signs in by a password, so people are not made here
 */
export function AccountDialog(props: {
  account: AccountOut | null;
  isFirst: boolean;
  passwords: boolean;
  onClose: () => void;
}) {
  const { account, isFirst, passwords, onClose } = props;
  const [kind, setKind] = useState<"person" | "service">(account?.kind ?? (passwords ? "person" : "service"));
  const [name, setName] = useState(account?.name ?? "");
  const [role, setRole] = useState<Role>(account?.role ?? (isFirst ? "admin" : "viewer"));
  const [rights, setRights] = useState<RightsDraft>({
    actions: account?.actions ?? [],
    sources: account === null ? (isFirst ? null : "") : (account.sources?.join(" ") ?? null),
  });
  const [link, setLink] = useState<string | null>(null);
  const create = useCreateAccount();
  const change = useChangeAccount();
  if (link !== null) return <LinkDialog link={link} name={name} onClose={onClose} />;
  const own = ROLE_ACTIONS[role];
  const given = kind === "service" && own !== "all" ? [...own, ...OF_PERSONS] : own;
  const givable = given === "all" ? [] : ACTIONS.filter((action) => !given.includes(action));
  const terms = {
    role,
    actions: rights.actions.filter((action) => givable.includes(action)),
    sources: namedSources(rights),
  };
  const nameFault = name.trim() === "" ? "Enter the name to show in the audit log" : actorFault(name);
  return (
    <ReasonDialog
      needs="change-accounts"
      everySource
      answersOnce={account === null}
      title={account === null ? "Create account" : `Permissions of ${account.name}`}
      description={
        account === null && kind === "person"
          ? "You then get a link with which the person chooses a password."
          : undefined
      }
      verb={account === null ? "Create account" : "Save"}
      reason="none"
      size="lg"
      onClose={onClose}
      onSubmit={async () => {
        if (sourcesFault(rights) !== null) return "stay";
        if (account !== null) {
          await change.mutateAsync({ id: account.id, version: account.version, ...terms });
          return { title: `Permissions of ${account.name} changed`, tone: "success" };
        }
        if (nameFault !== null) return "stay";
        const made = await create.mutateAsync({ kind, name, ...terms });
        if (made.link === null) return { title: `Created ${name}: now create a token for it`, tone: "success" };
        setLink(made.link);
        return "stay";
      }}
    >
      {(pressed) => (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
          {account === null ? (
            <>
              {passwords ? (
                <Choice
                  label="Kind"
                  options={KIND_OPTIONS}
                  value={kind}
                  onChange={(chosen) => {
                    setKind(chosen);
                    if (chosen === "service" && !SERVICE_ROLES.includes(role)) setRole("viewer");
                  }}
                />
              ) : (
                <p>
                  A service account (tokens only). People sign in with the OpenID provider, and their first sign-in
                  creates their account: password sign-in is off (PARKADE_PASSWORD_SIGN_IN).
                </p>
              )}
              <TextField
                label="Name"
                hint="Shown in the audit log."
                error={pressed ? nameFault : null}
                maxLength={128}
                value={name}
                onValue={setName}
              />
            </>
          ) : null}
          <SelectField
            label="Role"
            hint={ROLE_WORDS[role]}
            options={ROLE_OPTIONS[kind]}
            value={role}
            onValue={(value) => setRole(value as Role)}
          />
          <RightsFields
            draft={rights}
            set={setRights}
            givable={{ actions: givable, sources: "all" }}
            pressed={pressed}
            actionsHint="In addition to the role's permissions."
            everySource="all sources, including future ones"
          />
        </div>
      )}
    </ReasonDialog>
  );
}

export function LinkDialog({ link, name, onClose }: { link: string; name: string; onClose: () => void }) {
  return (
    <ShownOnce title={`The link for ${name}`} label="the link" text={link} done="Done" onClose={onClose}>
      Whoever opens it chooses the password. It works once and is not shown again: send it only to that person.
    </ShownOnce>
  );
}
