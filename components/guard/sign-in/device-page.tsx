"use client";

import { useQuery } from "@tanstack/react-query";
import { useRouter, useSearchParams } from "next/navigation";
import { useState } from "react";
import { useProof } from "@/components/guard/account/proof-fields";
import { namedSources, type RightsDraft, RightsFields, sourcesFault } from "@/components/guard/people/rights-fields";
import { Button, LinkButton } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { TextField } from "@/components/ui/input";
import { SelectField } from "@/components/ui/select";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { useHydrated } from "@/components/ui/use-hydrated";
import { useSubmit } from "@/components/ui/use-submit";
import type { MeOut } from "@/lib/guard/accounts/accounts.shapes";
import { decideDeviceSignIn, lookAtDeviceSignIn } from "@/lib/guard/device-sign-ins/device-sign-ins.browser";
import type { DeviceShown } from "@/lib/guard/device-sign-ins/device-sign-ins.shapes";
import { useMe } from "@/lib/guard/viewer/me.browser";
import { ACTIONS } from "@/lib/guard/viewer/viewer.pure";
import { SignInCard } from "./sign-in-card";

/** Opened by the address that a program shows, such as `parkade login`: the person who has signed in confirms or denies. */
export function DevicePage() {
  const code = useSearchParams().get("code") ?? "";
  const { data: me } = useMe();
  if (me === undefined) return <SignInCard title="Loading…">{null}</SignInCard>;
  if (me.means !== "session") {
    return (
      <SignInCard title="No sign-in needed">
        <p>Anyone on this machine can use Parkade without an account, and so can programs.</p>
        <p>
          To confirm a program,{" "}
          <TextLink className="underline" href={`/sign-in?to=${encodeURIComponent(`/sign-in/device?code=${code}`)}`}>
            sign in
          </TextLink>{" "}
          first.
        </p>
      </SignInCard>
    );
  }
  return code === "" ? <AskForCode /> : <Program code={code} me={me} />;
}

function AskForCode() {
  const router = useRouter();
  const [code, setCode] = useState("");
  const hydrated = useHydrated();
  return (
    <SignInCard title="Confirm a program">
      <form
        className="grid grid-cols-[minmax(0,1fr)] gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (code.trim() !== "") router.push(`/sign-in/device?code=${encodeURIComponent(code.trim())}`);
        }}
      >
        <TextField
          label="Code"
          hint="Shown by the program."
          autoFocus
          autoComplete="off"
          required
          maxLength={40}
          value={code}
          onValue={setCode}
          inputClassName="font-mono"
        />
        <Button type="submit" variant="primary" disabled={!hydrated} className="mt-1 h-8!">
          Continue
        </Button>
      </form>
    </SignInCard>
  );
}

function Program({ code, me }: { code: string; me: MeOut }) {
  const [decided, setDecided] = useState<"confirm" | "deny" | null>(null);
  const program = useQuery({
    queryKey: ["device-sign-in", code],
    queryFn: () => lookAtDeviceSignIn(code),
    enabled: decided === null,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (decided !== null) {
    return (
      <SignInCard title={decided === "confirm" ? "The program is signed in" : "Access denied"}>
        {decided === "confirm" ? (
          <p>Return to the program. Its token is listed under Account, where you can revoke it.</p>
        ) : (
          <p>It gets no token. If you did not start it, tell an administrator: someone tried to act as you.</p>
        )}
        <LinkButton href={decided === "confirm" ? "/account" : "/"}>
          {decided === "confirm" ? "Account" : "Go to the console"}
        </LinkButton>
      </SignInCard>
    );
  }
  if (program.isError) {
    return (
      <SignInCard title="There is nothing to confirm">
        <ErrorPanel error={program.error} inline />
        <LinkButton href="/sign-in/device">Type another code</LinkButton>
      </SignInCard>
    );
  }
  if (!program.data) return <SignInCard title="Loading…">{null}</SignInCard>;
  return (
    <SignInCard title="Let a program act as you?">
      <Decision code={code} me={me} program={program.data} onDecided={setDecided} />
    </SignInCard>
  );
}

const DAYS = [1, 7, 30, 90, 365].map((days) => ({ value: String(days), label: days === 1 ? "1 day" : `${days} days` }));
const EXTENTS = [
  { value: "all", label: "Everything I can do, except approve" },
  { value: "some", label: "Selected permissions" },
];

function Decision(props: {
  code: string;
  me: MeOut;
  program: DeviceShown;
  onDecided: (decision: "confirm" | "deny") => void;
}) {
  const { code, me, program, onDecided } = props;
  const [days, setDays] = useState("30");
  const [extent, setExtent] = useState("all");
  const [rights, setRights] = useState<RightsDraft>({ actions: [], sources: null });
  const [pressed, setPressed] = useState(false);
  const { busy, error, submit } = useSubmit();
  const { fields, proving } = useProof();
  const sources = namedSources(rights);
  const narrowed = {
    ...(rights.actions.length > 0 ? { actions: rights.actions } : {}),
    ...(sources === null ? {} : { sources }),
  };
  const decide = (decision: "confirm" | "deny") =>
    submit(async () => {
      const terms = decision === "deny" ? {} : { days: Number(days), ...(extent === "some" ? narrowed : {}) };
      await proving((proof) => decideDeviceSignIn({ code, decision, ...terms, ...(proof && { proof }) }));
      onDecided(decision);
    });
  return (
    <form
      className="grid grid-cols-[minmax(0,1fr)] gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        setPressed(true);
        if (extent === "all" || sourcesFault(rights) === null) void decide("confirm");
      }}
    >
      {error ? <ErrorPanel error={error} inline title="Request failed" /> : null}
      <p className="rounded-md border border-line bg-canvas p-2 text-center font-mono text-lg select-all">{code}</p>
      <p>
        <strong>Confirm only if you started this, and the program shows this code.</strong> Otherwise, whoever sent you
        the address of this page could act as you.
      </p>
      <dl className="grid grid-cols-[5rem_minmax(0,1fr)] gap-x-3 gap-y-1">
        <dt className="text-muted">Program</dt>
        <dd className="wrap-anywhere">{program.name} (self-reported)</dd>
        <dt className="text-muted">From</dt>
        <dd className="wrap-anywhere">{program.address ?? "an unknown address"}</dd>
        <dt className="text-muted">Requested</dt>
        <dd>
          <TimeAgo at={program.askedAt} />
        </dd>
        <dt className="text-muted">Acts as</dt>
        <dd className="wrap-anywhere">{me.name}</dd>
      </dl>
      <SelectField label="Permissions" options={EXTENTS} value={extent} onValue={setExtent} />
      {extent === "some" ? (
        <RightsFields
          draft={rights}
          set={setRights}
          givable={{ sources: me.sources, actions: me.actions === "all" ? ACTIONS : me.actions }}
          pressed={pressed}
          actionsHint="Select none to allow everything you may do, except approve."
          everySource="all sources that you can see"
          unfolded
        />
      ) : null}
      <SelectField label="Expires in" options={DAYS} value={days} onValue={setDays} />
      {fields}
      <div className="mt-1 grid grid-cols-2 gap-2">
        <Button className="h-8!" disabled={busy} onClick={() => void decide("deny")}>
          Deny
        </Button>
        <Button type="submit" variant="primary" busy={busy} className="h-8!">
          Confirm
        </Button>
      </div>
    </form>
  );
}
