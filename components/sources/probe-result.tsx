"use client";

import { X } from "lucide-react";
import { IconButton } from "@/components/ui/button";
import { Health } from "@/components/ui/state-badge";
import { Table, Td, Th, Tr } from "@/components/ui/table";
import type { ProbeOut } from "@/lib/contract/sources";
import { formatBytes, formatNumber, shortenId } from "@/lib/core/format";

/** Whether the source can be reached, and a sample of its messages. The messages stay in the queue. */
export function ProbeResult({ probe, onClose }: { probe: ProbeOut; onClose?: () => void }) {
  return (
    <div role="status" className="grid grid-cols-[minmax(0,1fr)] gap-2 rounded-md bg-canvas px-3 py-2">
      <div className="flex items-start gap-2">
        <p className="min-w-0 flex-1 wrap-anywhere">
          <Health ok={probe.reachable} word={probe.reachable ? "reachable" : "not reachable"} />
          <span className="text-muted"> {probe.detail}</span>
          {probe.depth === null ? null : <span className="text-muted"> · {formatNumber(probe.depth)} waiting</span>}
        </p>
        {onClose ? (
          <IconButton size="sm" label="Close the probe's result" onClick={onClose}>
            <X size={12} aria-hidden />
          </IconButton>
        ) : null}
      </div>
      {probe.sample.length > 0 ? (
        <Table focusable aria-label="What would be read">
          <thead>
            <tr>
              <Th>event id</Th>
              <Th>error code</Th>
              <Th>read as</Th>
              <Th numeric>size</Th>
            </tr>
          </thead>
          <tbody>
            {probe.sample.map((sample, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a sample may hold one id twice and is never reordered
              <Tr key={index}>
                <Td className="font-mono text-sm whitespace-nowrap">{shortenId(sample.eventId, 16, 6)}</Td>
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
