import { Table, Td, Th, Tr } from "@/components/ui/table";
import type { RetentionPreview } from "@/lib/keep/retention/retention.shapes";
import { formatBytes, formatNumber } from "@/lib/platform/plain/format.pure";
import { keptText } from "./retention-words";

/** Events due to expire by the day on which they were parked, and why some stay. */
export function DueDays({ days }: { days: NonNullable<RetentionPreview["days"]> }) {
  return (
    <Table focusable>
      <thead>
        <tr>
          <Th>Parked on</Th>
          <Th numeric>Expire</Th>
          <Th numeric className="max-sm:hidden">
            Payloads
          </Th>
          <Th>Not expiring</Th>
        </tr>
      </thead>
      <tbody>
        {days.map(({ day, expires, bytes, keptByReason }) => (
          <Tr key={day}>
            <Td className="whitespace-nowrap tabular-nums">{day}</Td>
            <Td numeric>{formatNumber(expires)}</Td>
            <Td numeric className="whitespace-nowrap max-sm:hidden">
              {formatBytes(bytes)}
            </Td>
            <Td className="text-muted sm:min-w-64">
              {keptText(keptByReason) || <span className="text-faint">none</span>}
            </Td>
          </Tr>
        ))}
      </tbody>
    </Table>
  );
}
