"use client";

import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { IconButton } from "@/components/ui/button";
import { Health } from "@/components/ui/state-badge";
import { Head, Table, Td, Tr } from "@/components/ui/table";
import { formatBytes, formatNumber, plural, shortenId } from "@/lib/platform/plain/format.pure";
import type { ProbeOut } from "@/lib/sources/sources.shapes";

export function isReached({ reachable, targets }: ProbeOut): boolean {
  return reachable && targets.every((target) => target.reachable);
}

/** Whether the source can be reached, and what its first messages would become. They stay where they are. */
export function ProbeResult({ probe, onClose }: { probe: ProbeOut; onClose?: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  // In a long form the address, and the answer below it, may be out of sight.
  useEffect(() => {
    if (probe) box.current?.scrollIntoView({ block: "nearest" });
  }, [probe]);
  return (
    <div ref={box} role="status" className="grid grid-cols-[minmax(0,1fr)] gap-2 rounded-md bg-canvas px-3 py-2">
      <div className="flex items-start gap-2">
        <p className="min-w-0 flex-1 wrap-anywhere">
          <Health ok={probe.reachable} word={probe.reachable ? "reached" : "not reached"} />
          <span className="text-muted">{found(probe)}</span>
        </p>
        {onClose ? (
          <IconButton size="sm" label="Close the probe's result" onClick={onClose}>
            <X size={12} aria-hidden />
          </IconButton>
        ) : null}
      </div>
      <p className="text-sm wrap-anywhere text-muted">{probe.detail}</p>
      {probe.targets.length > 0 ? (
        <ul aria-label="Its targets" className="grid grid-cols-[minmax(0,1fr)] gap-1 text-sm">
          {probe.targets.map(({ name, reachable, detail }) => (
            <li key={name} className="wrap-anywhere">
              <Health ok={reachable} word={reachable ? "reached" : "not reached"} />{" "}
              <span className="font-mono">{name}</span> <span className="text-muted">{detail}</span>
            </li>
          ))}
        </ul>
      ) : null}
      {probe.sample.length > 0 ? (
        <Table focusable aria-label="What would be parked">
          <Head columns={["event id", "aggregate", "type", "error code", "read as", { numeric: "size" }]} />
          <tbody>
            {probe.sample.map((sample, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a sample may hold one id twice and is never reordered
              <Tr key={index}>
                <Td className="font-mono text-sm whitespace-nowrap" data-tip={sample.eventId}>
                  {shortenId(sample.eventId, 16, 6)}
                </Td>
                <Td className="max-w-48 truncate font-mono text-sm" data-tip={sample.aggregateId ?? undefined}>
                  {sample.aggregateId ?? <span className="text-faint">none</span>}
                  {sample.version === null ? null : <span className="text-muted"> v{sample.version}</span>}
                </Td>
                <Td className="max-w-48 truncate">{sample.eventType ?? <span className="text-faint">none</span>}</Td>
                <Td className="font-mono text-sm">{sample.errorCode}</Td>
                <Td className="whitespace-nowrap">{sample.convention}</Td>
                <Td numeric className="whitespace-nowrap">
                  {formatBytes(sample.payloadBytes)}
                </Td>
              </Tr>
            ))}
          </tbody>
        </Table>
      ) : null}
    </div>
  );
}

/** `; 4,213 messages; spring-amqp headers found; 3 samples mapped like this`. */
function found({ depth, sample }: ProbeOut): string {
  const conventions = [...new Set(sample.map(({ convention }) => convention))].filter((name) => name !== "generic");
  const parts = [
    depth === null ? null : `${formatNumber(depth)} ${depth === 1 ? "message" : "messages"}`,
    conventions.length === 0 ? null : `${conventions.join(", ")} headers found`,
    sample.length === 0 ? null : `${plural(sample.length, "sample")} mapped like this`,
  ];
  return parts.map((part) => (part === null ? "" : `; ${part}`)).join("");
}
