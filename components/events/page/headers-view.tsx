"use client";

import { MaskedText } from "@/components/guard/masking/masked-text";
import { CopyButton } from "@/components/ui/copy-button";
import { Head, Table, Td, Tr } from "@/components/ui/table";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { visible } from "@/lib/platform/plain/format.pure";

const ENCODINGS = { text: "", bytes: "base64", amqp: "AMQP value" } as const;

/** The headers as received: in their order, with repeated names. */
export function HeadersView({ headers }: { headers: Header[] }) {
  if (headers.length === 0) return <p className="px-3 py-4 text-muted">The event has no headers.</p>;
  return (
    <Table>
      <Head columns={["name", "value", { unseen: "copy" }]} />
      <tbody>
        {headers.map(([name, value, encoding], index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: names repeat; the position identifies a header
          <Tr key={index}>
            <Td className="align-top font-mono text-sm whitespace-nowrap text-muted">
              <bdi>{visible(name)}</bdi>
            </Td>
            <Td className="w-full font-mono text-sm wrap-anywhere">
              {value === null ? (
                <span className="text-faint italic">no value</span>
              ) : (
                <bdi>
                  <MaskedText text={value} />
                </bdi>
              )}
              {encoding && encoding !== "text" ? (
                <span className="ml-2 font-sans text-xs text-faint">{ENCODINGS[encoding]}</span>
              ) : null}
            </Td>
            <Td className="align-top">{value ? <CopyButton text={value} label={`value of ${name}`} /> : null}</Td>
          </Tr>
        ))}
      </tbody>
    </Table>
  );
}
