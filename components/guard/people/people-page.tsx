"use client";

import { useState } from "react";
import { Tokens } from "@/components/guard/account/tokens";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { Input } from "@/components/ui/input";
import { lazily } from "@/components/ui/lazily";
import { ListState } from "@/components/ui/loaded";
import type { MenuEntry } from "@/components/ui/menu";
import { PageHeader } from "@/components/ui/page-header";
import { MenuButton } from "@/components/ui/popup-button";
import { Head, Table, Td, Tr } from "@/components/ui/table";
import { TimeAgo } from "@/components/ui/time-ago";
import { failureToast, showToast } from "@/components/ui/toast";
import { useSettled } from "@/components/ui/use-settled";
import {
  useAccounts,
  useChangeAccount,
  useEndSessions,
  useMakeLink,
  useRemoveTotpOf,
} from "@/lib/guard/accounts/accounts.browser";
import type { AccountOut, MeOut } from "@/lib/guard/accounts/accounts.shapes";
import { useMe, useRefusal } from "@/lib/guard/viewer/me.browser";
import { AccountDialog, LinkDialog } from "./account-dialog";

const ReasonDialog = lazily(() => import("@/components/ui/reason-dialog"), "ReasonDialog");

type Open =
  | { kind: "rights"; account: AccountOut | null }
  | { kind: "link"; link: string; name: string }
  | ({ kind: "sure" } & Sure)
  | null;

/** Actions that take something away from an account need confirmation: a wrong menu entry is easily clicked. */
type Sure = { title: string; effect: string; verb: string; run: () => Promise<unknown>; done: string };

export function PeoplePage() {
  const { data: me } = useMe();
  const refusal = useRefusal("change-accounts", true);
  if (refusal !== null) {
    return (
      <>
        <PageHeader title="People" />
        <EmptyState title="Only administrators can manage accounts">{refusal}</EmptyState>
      </>
    );
  }
  return me ? <Accounts signIn={me.signIn} /> : <PageHeader title="People" />;
}

function Accounts({ signIn }: { signIn: MeOut["signIn"] }) {
  const [name, setName] = useState("");
  const searched = useSettled(name.trim());
  const accounts = useAccounts(searched);
  const [open, setOpen] = useState<Open>(null);
  const [tokensOf, setTokensOf] = useState<string | null>(null);
  const { items = [], total = 0 } = accounts.data ?? {};
  const isEmpty = accounts.isSuccess && !accounts.isPlaceholderData && items.length === 0;
  const make = (
    <Button
      needs="change-accounts"
      everySource
      variant="primary"
      onClick={() => setOpen({ kind: "rights", account: null })}
    >
      Create account…
    </Button>
  );
  const shownTokens = items.find(({ id }) => id === tokensOf);
  return (
    <>
      <PageHeader
        title="People"
        meta={total > 0 ? total.toLocaleString("en") : undefined}
        actions={isEmpty && searched === "" ? null : make}
      />
      <ListState read={accounts} loading={{ rows: 4, columns: ["w-28", "w-20", "flex-1"] }} none={null} />
      {total > 0 || searched !== "" ? (
        <div className="flex flex-wrap items-center gap-3 px-3 pb-2">
          <div className="w-56 max-sm:w-full">
            <Input
              type="search"
              aria-label="Search the accounts"
              placeholder="part of a name"
              maxLength={128}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </div>
          {total > items.length ? (
            <p role="status">
              {items.length.toLocaleString("en")} of {total.toLocaleString("en")} accounts are shown: search by name for
              another one.
            </p>
          ) : null}
        </div>
      ) : null}
      {isEmpty && searched !== "" ? <EmptyState title="No account matches" /> : null}
      {isEmpty && searched === "" ? (
        <EmptyState title="No accounts yet" action={make}>
          {!signIn.password
            ? "People sign in with the OpenID provider, and their first sign-in creates their account. Create accounts for services here."
            : signIn.open
              ? "Anyone on this machine can use Parkade. Accounts let people sign in from elsewhere and put their names in the audit log. Create an administrator first."
              : "Create an administrator first."}
        </EmptyState>
      ) : null}
      {items.length > 0 ? (
        <div className="px-3 pb-4">
          <Table aria-label="Accounts">
            <Head columns={["Name", "Role", "Sources", "Signs in with", "Last signed in", { unseen: "Actions" }]} />
            <tbody>
              {items.map((account) => (
                <Row
                  key={account.id}
                  account={account}
                  passwords={signIn.password}
                  onOpen={setOpen}
                  onTokens={setTokensOf}
                />
              ))}
            </tbody>
          </Table>
        </div>
      ) : null}
      {shownTokens ? (
        <section aria-label={`Tokens of ${shownTokens.name}`} className="grid gap-2 px-3 pb-6">
          <h2 className="font-medium">{shownTokens.name}</h2>
          <Tokens account={shownTokens} />
        </section>
      ) : null}
      {open?.kind === "rights" ? (
        <AccountDialog
          account={open.account}
          isFirst={isEmpty && searched === "" && signIn.password}
          passwords={signIn.password}
          onClose={() => setOpen(null)}
        />
      ) : null}
      {open?.kind === "sure" ? (
        <ReasonDialog
          needs="change-accounts"
          everySource
          stops
          title={open.title}
          description={open.effect}
          verb={open.verb}
          variant="danger"
          reason="none"
          onClose={() => setOpen(null)}
          onSubmit={async () => {
            await open.run();
            return { title: open.done, tone: "success" };
          }}
        />
      ) : null}
      {open?.kind === "link" ? <LinkDialog link={open.link} name={open.name} onClose={() => setOpen(null)} /> : null}
    </>
  );
}

function meansOf({ kind, hasPassword, totpSince, oidcIssuer, linkUntil }: AccountOut, passwords: boolean): string {
  if (kind === "service") return "tokens";
  const means = [
    hasPassword && (totpSince === null ? "password" : "password and code"),
    oidcIssuer !== null && (URL.canParse(oidcIssuer) ? new URL(oidcIssuer).host : oidcIssuer),
  ].filter((one) => one !== false);
  if (means.length > 0) return means.join(", ");
  if (!passwords) return "none: password sign-in is off";
  return linkUntil === null ? "none yet: create a link" : "link not used yet";
}

function Row(props: {
  account: AccountOut;
  passwords: boolean;
  onOpen: (open: Open) => void;
  onTokens: (id: string) => void;
}) {
  const { account, passwords, onOpen, onTokens } = props;
  const { id, name, version, disabledAt, kind } = account;
  const change = useChangeAccount();
  const link = useMakeLink();
  const end = useEndSessions();
  const removeTotp = useRemoveTotpOf();
  const sure = (asked: Sure) => onOpen({ kind: "sure", ...asked });
  const run = (work: Promise<unknown>, done: string) =>
    void work
      .then(() => showToast({ title: done, tone: "success" }))
      .catch((error: unknown) => failureToast("Request failed", error));
  const person: MenuEntry[] = [
    {
      id: "link",
      needs: "change-accounts",
      label: account.hasPassword ? "Create a link to choose a new password…" : "Create a link to choose a password…",
      disabled: account.oidcManaged || !passwords,
      hint: account.oidcManaged ? "signs in with the provider" : passwords ? undefined : "password sign-in is off",
      onSelect: () =>
        void link
          .mutateAsync(id)
          .then((made) => onOpen({ kind: "link", link: made.link, name }))
          .catch((error: unknown) => failureToast("The link was not created", error)),
    },
    {
      id: "sessions",
      needs: "change-accounts",
      label: `Sign out everywhere (${account.sessions})…`,
      disabled: account.sessions === 0,
      onSelect: () =>
        sure({
          title: `Sign ${name} out everywhere?`,
          effect: "They must sign in again in every browser. Anything not saved there is lost.",
          verb: "Sign out everywhere",
          run: () => end.mutateAsync(id),
          done: `Signed ${name} out everywhere`,
        }),
    },
    {
      id: "totp",
      needs: "change-accounts",
      label: "Remove second factor…",
      disabled: account.totpSince === null,
      onSelect: () =>
        sure({
          title: `Remove the second factor of ${name}?`,
          effect:
            "The password alone is then enough to sign in. Only the owner of the account can add a second factor again.",
          verb: "Remove",
          run: () => removeTotp.mutateAsync(id),
          done: `${name} has no second factor`,
        }),
    },
  ];
  const service: MenuEntry[] = [
    { id: "tokens", needs: "change-accounts", label: "Tokens", onSelect: () => onTokens(id) },
  ];
  const entries: MenuEntry[] = [
    ...(kind === "person" ? person : service),
    { kind: "link", id: "audit", label: "Activity", href: `/audit?actor=${encodeURIComponent(name)}` },
    { kind: "separator", id: "line" },
    {
      id: "disable",
      needs: "change-accounts",
      label: disabledAt === null ? "Disable…" : "Enable",
      danger: disabledAt === null,
      onSelect: () => {
        const work = () => change.mutateAsync({ id, version, disabled: disabledAt === null });
        if (disabledAt !== null) return run(work(), `${name} can sign in again`);
        sure({
          title: `Disable ${name}?`,
          effect:
            "Its sessions end and its tokens are revoked at once, and it cannot sign in. Enabling it again does not restore the tokens.",
          verb: "Disable",
          run: work,
          done: `${name} is disabled`,
        });
      },
    },
  ];
  return (
    <Tr className={disabledAt === null ? undefined : "text-muted"}>
      <Td>
        <span className="block max-w-60 truncate font-medium">{name}</span>
        {disabledAt === null ? null : <span className="text-sm">disabled</span>}
      </Td>
      <Td>
        {account.role}
        {account.actions.length > 0 ? (
          <span className="text-muted" data-tip={account.actions.join(", ")}>
            {" "}
            and {account.actions.length} more
          </span>
        ) : null}
      </Td>
      <Td>
        <span className="block max-w-60 truncate">{account.sources?.join(", ") ?? "all"}</span>
      </Td>
      <Td>
        {meansOf(account, passwords)}
        {account.secondFactorNeeded ? (
          <span className="block text-sm text-warning">must add a second factor</span>
        ) : null}
      </Td>
      <Td>{account.signedInAt === null ? "never" : <TimeAgo at={account.signedInAt} />}</Td>
      <Td className="sticky right-0 bg-surface">
        <div className="flex justify-end gap-1">
          <ActionButton
            needs="change-accounts"
            everySource
            size="sm"
            refusal={account.oidcManaged ? "Its permissions come from its groups at the OpenID provider" : null}
            aria-label={`Change permissions of ${name}`}
            onClick={() => onOpen({ kind: "rights", account })}
          >
            Permissions…
          </ActionButton>
          <MenuButton name={`More about ${name}`} label="…" size="sm" variant="ghost" entries={entries} />
        </div>
      </Td>
    </Tr>
  );
}
