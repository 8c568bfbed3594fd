"use client";

import { type ReactNode, useState } from "react";
import { TextField } from "@/components/ui/input";
import type { Proof } from "@/lib/guard/accounts/accounts.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";

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
      <TextField
        label="Your password again"
        type="password"
        autoComplete="current-password"
        value={password}
        onValue={setPassword}
      />
      <TextField
        label="Code"
        hint="From your second factor, if you have one."
        autoComplete="one-time-code"
        maxLength={40}
        value={code}
        onValue={setCode}
        inputClassName="font-mono"
      />
    </>
  ) : null;
  return { fields, proving };
}
