"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Shape } from "@/components/ui/shape";
import { TextLink } from "@/components/ui/text-link";
import { useMe } from "@/lib/guard/viewer/me.browser";

/** Fewer may be typing errors. */
const WRONG_CODES_TOLD = 3;

/** Warns that somebody may know the password and has guessed second-factor codes. */
export function WrongCodesStrip() {
  const { data: me } = useMe();
  const [dismissed, setDismissed] = useState(false);
  if (dismissed || me === undefined || me.wrongCodes < WRONG_CODES_TOLD) return null;
  return (
    <div role="status" className="flex items-center gap-2 border-b border-danger bg-surface px-4 py-1.5">
      <Shape name="triangle" className="shrink-0 text-danger" />
      <span>
        {me.wrongCodes} wrong codes were entered with your password before you signed in. If that was not you, someone
        knows your password:{" "}
        <TextLink className="underline" href="/account">
          change the password
        </TextLink>
        .
      </span>
      <Button size="sm" className="ml-auto" onClick={() => setDismissed(true)}>
        Dismiss
      </Button>
    </div>
  );
}
