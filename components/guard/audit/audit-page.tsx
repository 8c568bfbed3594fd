"use client";

import { X } from "lucide-react";
import { useSearchParams } from "next/navigation";
import { Button, NextPageButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { itemsOf, ListState } from "@/components/ui/loaded";
import { PageHeader } from "@/components/ui/page-header";
import { AUDIT_FILTER_NAMES, type AuditFilter, auditParams, useAudit } from "@/lib/guard/audit/audit.browser";
import { useAuditChain } from "@/lib/guard/audit-chain/chain.browser";
import { findingsByEntry, shownCheck } from "@/lib/guard/audit-chain/chain.pure";
import { shortenId } from "@/lib/platform/plain/format.pure";
import { pushAddress } from "@/lib/selection/filter/filter-url.browser";
import { AuditFilterBar } from "./audit-filter-bar";
import { AuditLine } from "./audit-line";
import { ChainStrip } from "./chain-strip";

/** The filter of the address. The server refuses an unknown subject kind. */
function filterOf(params: URLSearchParams): AuditFilter {
  const filter: Record<string, string> = {};
  for (const name of AUDIT_FILTER_NAMES) {
    const value = params.get(name);
    if (value) filter[name] = value;
  }
  return filter as AuditFilter;
}

function setAddress(filter: AuditFilter) {
  const query = auditParams(filter).toString();
  pushAddress(query === "" ? "/audit" : `/audit?${query}`);
}

export function AuditPage() {
  const params = useSearchParams();
  const filter = filterOf(new URLSearchParams(params));
  const narrowed = [...FIXED, "actor" as const].some((name) => filter[name] !== undefined);
  const by = filter.by ?? (narrowed ? "all" : "people");
  const audit = useAudit({ ...filter, by });
  const items = itemsOf(audit);
  const { chain, refused } = useAuditChain();
  const check = chain && shownCheck(chain);
  const bad = check ? findingsByEntry(check) : null;
  const filtered = Object.keys(filter).length > 0;
  return (
    <>
      <PageHeader title="Audit" meta="every change, who made it and why" />
      <ChainStrip chain={chain} refused={refused} />
      <AuditFilterBar key={params.toString()} filter={filter} by={by} entries={items} onFilter={setAddress} />
      <FixedTerms filter={filter} />
      <ListState
        read={audit}
        loading={{ rows: 12, columns: ["w-24", "w-28", "w-36", "flex-1"] }}
        none={
          filtered || by === "people" ? (
            <EmptyState
              title="No entry matches"
              action={<Button onClick={() => setAddress({ by: "all" })}>Show the whole log</Button>}
            >
              The filter hides every entry.
            </EmptyState>
          ) : (
            <EmptyState title="No changes yet">
              Every redrive, every change to an event, control or setting, and who made it, is recorded here.
            </EmptyState>
          )
        }
      />
      {items.length > 0 ? (
        <ul className="border-t border-line">
          {items.map((entry) => (
            <AuditLine key={entry.id} entry={entry} finding={bad?.get(entry.id)} />
          ))}
        </ul>
      ) : null}
      <NextPageButton read={audit}>Older entries</NextPageButton>
    </>
  );
}

const FIXED = ["subjectId", "eventId", "redriveId", "operationId"] as const;

/** Restrictions that other pages link to; the filter bar has no field for them. */
function FixedTerms({ filter }: { filter: AuditFilter }) {
  const names = FIXED.filter((name) => filter[name] !== undefined);
  if (names.length === 0) return null;
  return (
    <ul aria-label="Restrictions" className="flex flex-wrap gap-1.5 px-3 pb-2">
      {names.map((name) => (
        <li key={name}>
          <Button
            size="sm"
            aria-label={`Remove ${name} ${filter[name]}`}
            data-tip={`${filter[name]}\nclick to remove`}
            onClick={() => setAddress({ ...filter, [name]: undefined })}
          >
            <span className="text-faint">{name}</span>
            <span className="font-mono text-sm">{shortenId(filter[name] ?? "")}</span>
            <X size={12} aria-hidden />
          </Button>
        </li>
      ))}
    </ul>
  );
}
