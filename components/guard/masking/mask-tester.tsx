"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { CodeField, TextField } from "@/components/ui/input";
import { Panel } from "@/components/ui/panel";
import { Head, Table, Td, Tr } from "@/components/ui/table";
import { submits, useSubmit } from "@/components/ui/use-submit";
import type { MaskTrial } from "@/lib/guard/masking/mask-rules.shapes";
import { tryMasking } from "@/lib/guard/masking/masking.browser";
import { plural, visible } from "@/lib/platform/plain/format.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";
import { MaskedText } from "./masked-text";

const SAMPLE = '{"customer":{"email":"ada@example.com"},"card":"4111 1111 1111 1111","amount":12.50}';

/** What the rules mask in a sample, or in an event, and which rule each value. */
export function MaskTester() {
  const [text, setText] = useState(SAMPLE);
  const [source, setSource] = useState("");
  const [tried, setTried] = useState<MaskTrial | null>(null);
  const { busy, error, submit } = useSubmit();
  const sample = text.trim();
  return (
    <Panel title="Test the rules">
      <form
        className="grid grid-cols-[minmax(0,1fr)] gap-3 p-3"
        onSubmit={submits(() =>
          submit(async () =>
            setTried(
              await tryMasking({
                ...(UUID.test(sample) ? { eventId: sample } : { text }),
                source: source.trim() || undefined,
              }),
            ),
          ),
        )}
      >
        <CodeField label="A payload, or the id of an event" rows={4} value={text} onValue={setText} />
        <div className="flex flex-wrap items-end gap-3">
          <TextField
            label="Source"
            optional
            hint="Leave empty to use the rules for all sources."
            value={source}
            onValue={setSource}
            className="w-60"
          />
          <Button type="submit" busy={busy} disabled={sample === ""}>
            Show what is masked
          </Button>
        </div>
        {error ? <ErrorPanel error={error} inline title="The rules could not be tested" /> : null}
      </form>
      {tried === null ? null : <Tried trial={tried} />}
    </Panel>
  );
}

function Tried({ trial: { text, count, places, headers } }: { trial: MaskTrial }) {
  return (
    <div role="status" className="border-t border-line">
      <p className="px-3 py-1.5 font-medium">
        {count === null ? "Masked as a whole" : `${plural(count, "value")} masked`}
      </p>
      <pre className="max-h-80 overflow-y-auto px-3 pb-2 font-mono text-sm wrap-anywhere whitespace-pre-wrap">
        <MaskedText text={text} />
        {headers.map(([name, value], index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: names repeat; the position identifies a header
          <div key={index}>
            {visible(name)}: <MaskedText text={value ?? ""} />
          </div>
        ))}
      </pre>
      {places.length === 0 ? null : (
        <Table aria-label="Masked positions">
          <Head columns={["where", "by"]} />
          <tbody>
            {places.map(({ at, by }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a place may repeat
              <Tr key={index}>
                <Td className="font-mono text-sm wrap-anywhere">
                  {at === "" ? "the whole" : <MaskedText text={at} />}
                </Td>
                <Td>{by}</Td>
              </Tr>
            ))}
          </tbody>
        </Table>
      )}
    </div>
  );
}
