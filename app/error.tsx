"use client";

import { useEffect } from "react";
import { useSelfHealing } from "@/components/shell/use-self-healing";
import { Button, LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";

/** Shown when a whole page fails. A part of a page that fails shows its own error. */
export default function PageError({ error, retry }: { error: unknown; retry: () => void }) {
  useEffect(() => {
    console.error(error);
  }, [error]);
  const waiting = useSelfHealing(error, retry);
  const digest = error instanceof Error && "digest" in error ? String(error.digest) : null;
  return (
    <EmptyState
      title={waiting ? "Parkade is not responding" : "This page could not be shown"}
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
      {waiting ? <p>A part of this page could not be fetched. It is retried automatically.</p> : null}
      <p>Running redrives are not affected.</p>
      {digest ? (
        <p>
          The server's log has the cause under <code className="font-mono text-sm">{digest}</code>.
        </p>
      ) : null}
    </EmptyState>
  );
}
