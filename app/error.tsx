"use client";

import { useEffect } from "react";
import { Button, LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";

/** Shown when a page itself fails. What fails inside a page is said in its own place. */
export default function PageError({ error, retry }: { error: unknown; retry: () => void }) {
  useEffect(() => {
    console.error(error);
  }, [error]);
  const digest = error instanceof Error && "digest" in error ? String(error.digest) : null;
  return (
    <EmptyState
      title="This page broke"
      level={1}
      action={
        <>
          <Button variant="primary" onClick={retry}>
            Try again
          </Button>
          <LinkButton href="/">Overview</LinkButton>
        </>
      }
    >
      <p>Running redrives are not affected.</p>
      {digest ? (
        <p>
          The server's log has the cause under <code className="font-mono text-sm">{digest}</code>.
        </p>
      ) : null}
    </EmptyState>
  );
}
