"use client";

import { usePathname } from "next/navigation";
import type { ReactNode } from "react";

function useSigningIn(): boolean {
  const pathname = usePathname();
  return pathname === "/sign-in" || pathname.startsWith("/sign-in/");
}

/** The places of the rail, the bars and the page; while somebody signs in there is the page alone. */
export function FrameGrid({ children }: { children: ReactNode }) {
  const around =
    "grid-rows-[auto_minmax(0,1fr)_auto_auto] sm:grid-cols-[auto_minmax(0,1fr)] sm:grid-rows-[auto_minmax(0,1fr)_auto]";
  return <div className={`grid h-dvh grid-cols-[minmax(0,1fr)] ${useSigningIn() ? "" : around}`}>{children}</div>;
}

/** What stands around a page, but not around the pages of whoever has still to sign in: it asks for data. */
export function SignedInOnly({ children }: { children: ReactNode }) {
  return useSigningIn() ? null : children;
}
