"use client";

import { type ComponentProps, type ReactNode, useState } from "react";
import { TextField } from "@/components/ui/input";
import type { Proof } from "@/lib/guard/accounts/accounts.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";

type Typed = Pick<ComponentProps<typeof TextField>, "value" | "onValue" | "hint" | "error">;

export function PasswordAgain(props: Typed) {
  return <TextField label="Confirm your password" type="password" autoComplete="current-password" {...props} />;
}

/** A code of the second factor, or a recovery code. */
export function CodeField(props: Typed) {
  return <TextField label="Code" autoComplete="one-time-code" maxLength={40} inputClassName="font-mono" {...props} />;
}

/**
 * The password and code of a person who signed in a while ago. The server decides whether it needs them: `proving` runs the work, and the fields
 * appear when it is rejected for lack of them.
 */
export function useProof(): { fields: ReactNode; proving: <T>(work: (proof: Proof) => Promise<T>) => Promise<T> } {
  const [asked, setAsked] = useState(false);
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const proof = asked && password !== "" ? { password, ...(code.trim() !== "" && { code: code.trim() }) } : undefined;
  async function proving<T>(work: (proof: Proof) => Promise<T>): Promise<T> {
    try {
      return await work(proof);
    } catch (error) {
      if (error instanceof ApiError && error.code === "proof-failed") setAsked(true);
      throw error;
    }
  }
  const fields = asked ? (
    <>
      <PasswordAgain value={password} onValue={setPassword} />
      <CodeField hint="From your second factor, if you have one." value={code} onValue={setCode} />
    </>
  ) : null;
  return { fields, proving };
}
