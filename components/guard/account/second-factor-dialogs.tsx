"use client";

import { useState } from "react";
import { renderSVG } from "uqr";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { useConfirmTotp, useOfferTotp, useRemoveTotp } from "@/lib/guard/accounts/accounts.browser";
import { CodeField, PasswordAgain } from "./proof-fields";
import { ShownOnce } from "./shown-once";

/** Three steps: the password again, the secret into the app, the recovery codes. */
export function AddSecondFactorDialog({ onClose }: { onClose: () => void }) {
  const [offer, setOffer] = useState<{ secret: string; uri: string } | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  if (codes !== null) {
    return (
      <ShownOnce
        title="Save your recovery codes"
        label="recovery codes"
        text={codes.join("\n")}
        done="Done"
        onClose={onClose}
      >
        From now on, signing in requires a code. Each code works once, and the one that you just entered is used: wait
        for the next one to sign in. If you lose your phone, use one of these recovery codes instead; each works once.
        They are not shown again.
      </ShownOnce>
    );
  }
  if (offer === null) return <ProofStep onOffer={setOffer} onClose={onClose} />;
  return <ConfirmStep offer={offer} onCodes={setCodes} onClose={onClose} />;
}

function ProofStep(props: { onOffer: (offer: { secret: string; uri: string }) => void; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const offer = useOfferTotp();
  return (
    <ReasonDialog
      needs={null}
      title="Add a second factor"
      description="Use an app on your phone that shows codes, such as Aegis, 1Password or Google Authenticator."
      verb="Continue"
      reason="none"
      onClose={props.onClose}
      ready={() => password !== ""}
      onSubmit={async () => {
        props.onOffer(await offer.mutateAsync({ password }));
        return "stay";
      }}
    >
      <PasswordAgain value={password} onValue={setPassword} />
    </ReasonDialog>
  );
}

function ConfirmStep(props: {
  offer: { secret: string; uri: string };
  onCodes: (codes: string[]) => void;
  onClose: () => void;
}) {
  const { secret, uri } = props.offer;
  const [code, setCode] = useState("");
  const confirm = useConfirmTotp();
  const image = `data:image/svg+xml;base64,${btoa(renderSVG(uri, { border: 2 }))}`;
  return (
    <ReasonDialog
      needs={null}
      answersOnce
      title="Add a second factor"
      description="Scan this code with your app, then enter the code that it shows."
      verb="Confirm"
      reason="none"
      onClose={props.onClose}
      ready={() => code.trim() !== ""}
      onSubmit={async () => {
        const { recoveryCodes } = await confirm.mutateAsync({ code });
        props.onCodes(recoveryCodes);
        return "stay";
      }}
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
        {/* biome-ignore lint/performance/noImgElement: drawn here, from no server */}
        <img
          src={image}
          alt="The secret as a QR code; it is also shown below as text"
          className="size-44 rounded-md bg-white"
        />
        <p className="text-sm text-muted">
          Or enter this secret: <span className="font-mono break-all text-ink select-all">{secret}</span>
        </p>
        <TextField
          label="Code"
          autoComplete="one-time-code"
          inputMode="numeric"
          maxLength={20}
          value={code}
          onValue={setCode}
          inputClassName="font-mono"
        />
      </div>
    </ReasonDialog>
  );
}

/** @param demanded the role demands a factor */
export function RemoveSecondFactorDialog({ demanded, onClose }: { demanded: boolean; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const remove = useRemoveTotp();
  return (
    <ReasonDialog
      needs={null}
      title="Remove the second factor"
      description={
        demanded
          ? "Your role requires one: you must add another at once, and your tokens do not work until you do."
          : "You then sign in with the password only."
      }
      verb="Remove"
      variant="danger"
      reason="none"
      onClose={onClose}
      ready={() => password !== "" && code.trim() !== ""}
      onSubmit={async () => {
        await remove.mutateAsync({ password, code });
        return { title: "Second factor removed", tone: "success" };
      }}
    >
      <div className="grid gap-3">
        <PasswordAgain value={password} onValue={setPassword} />
        <CodeField hint="The current code in your app, or a recovery code." value={code} onValue={setCode} />
      </div>
    </ReasonDialog>
  );
}
