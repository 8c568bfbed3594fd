"use client";

import { ActionButton } from "@/components/ui/action-button";
import { Shape } from "@/components/ui/shape";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { failureToast } from "@/components/ui/toast";
import { type useAuditChain, useVerifyAudit } from "@/lib/guard/audit-chain/chain.browser";
import { shownCheck } from "@/lib/guard/audit-chain/chain.pure";
import type { AuditChainOut } from "@/lib/guard/audit-chain/verifications.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { entryHref } from "./audit-words";

/** Whether the log is what was written: the last check, the end of its chain, and the last anchor outside. */
export function ChainStrip({ chain, refused }: ReturnType<typeof useAuditChain>) {
  const verify = useVerifyAudit();
  if (refused)
    return (
      <p className="mx-3 mb-2 text-sm text-muted">
        Integrity is checked over all sources, so only users who can see every source see the result.
      </p>
    );
  if (chain === undefined) return null;
  const { running } = chain;
  return (
    <section
      aria-label="Integrity of the audit log"
      className="mx-3 mb-2 rounded-lg border border-line bg-surface px-3 py-2"
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <Result chain={chain} />
        <Facts chain={chain} />
        <ActionButton
          needs="view"
          everySource
          className="ml-auto"
          refusal={running ? "A check is running" : null}
          onClick={() =>
            verify.mutate(undefined, { onError: (error) => failureToast("The check could not start", error) })
          }
        >
          {running ? `Checking: ${formatNumber(running.seals)}` : "Verify now"}
        </ActionButton>
      </div>
      <Findings chain={chain} />
    </section>
  );
}

function Result({ chain }: { chain: AuditChainOut }) {
  const { lastWhole } = chain;
  const shown = shownCheck(chain);
  if (shown === null) return <span className="text-muted">Not checked yet</span>;
  const look =
    shown.good === null
      ? { shape: "clock" as const, colour: "text-pending", words: "Could not be checked" }
      : shown.good
        ? { shape: "check" as const, colour: "text-confirmed", words: "Audit log intact" }
        : { shape: "triangle" as const, colour: "text-blacklisted", words: "The audit log was tampered with" };
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <span className={`inline-flex items-center gap-1.5 font-medium ${look.colour}`}>
        <Shape name={look.shape} />
        {look.words}
      </span>
      <span className="text-sm text-muted">
        checked <TimeAgo at={shown.finishedAt} />
        {lastWhole ? (
          <>
            , last full check <TimeAgo at={lastWhole.finishedAt} />
          </>
        ) : null}
      </span>
    </span>
  );
}

function Facts({ chain: { head, waiting, anchors } }: { chain: AuditChainOut }) {
  const newest = anchors
    .map(({ at }) => at)
    .sort()
    .at(-1);
  return (
    <span className="flex flex-wrap gap-x-4 text-sm text-muted">
      <span data-tip={head?.chainHash}>
        {plural(head?.seq ?? 0, "seal")}
        {waiting.count > 0 ? `, ${formatNumber(waiting.count)} waiting` : null}
      </span>
      {newest ? (
        <span>
          anchored externally <TimeAgo at={newest} />
        </span>
      ) : (
        <span>no external anchor: set PARKADE_AUDIT_ANCHORS</span>
      )}
    </span>
  );
}

function Findings({ chain }: { chain: AuditChainOut }) {
  const check = shownCheck(chain);
  if (check === null) return null;
  const { first, findingsTotal } = check;
  // A finding stands, too, when the last check of everything could not read an anchor.
  const fault = check.fault ?? chain.lastWhole?.fault;
  if (!first && !fault) return null;
  return (
    <div className="mt-1 text-sm">
      {fault ? <p className="text-pending">{fault}</p> : null}
      {first ? (
        <p className="break-words">
          First finding: {first.detail}
          {first.seq === null ? null : `, number ${first.seq}`}
          {first.entryId ? (
            <>
              ,{" "}
              <TextLink href={entryHref(first.entryId)} className="underline">
                entry {first.entryId}
              </TextLink>
            </>
          ) : null}
          {findingsTotal !== null && findingsTotal > 1 ? `; ${plural(findingsTotal, "finding")} in all` : null}
        </p>
      ) : null}
    </div>
  );
}
