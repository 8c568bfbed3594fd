"use client";

import { createContext, createElement, type ReactNode, useContext } from "react";
import type { FirstRead } from "@/lib/platform/api/first-reads.pure";

const Reads = createContext<readonly (FirstRead | null)[]>([]);

/** Around a page: its reads of these addresses begin with what the server read. null = it read nothing. */
export function FirstReads({ reads, children }: { reads: readonly (FirstRead | null)[]; children: ReactNode }) {
  return createElement(Reads, { value: reads }, children);
}

/** The options of a query of this address. `data`: what the query holds of an answer. */
export function useFirstRead<Answer, Data>(path: string | null, data: (answer: Answer) => Data) {
  const read = useContext(Reads).find((each) => each?.path === path);
  if (!read) return {};
  // A server whose clock is ahead must not delay the next read.
  return { initialData: data(read.answer as Answer), initialDataUpdatedAt: () => Math.min(read.readAtMs, Date.now()) };
}
