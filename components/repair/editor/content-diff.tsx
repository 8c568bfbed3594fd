"use client";

import { hexLines } from "@/components/events/payload/hex-lines";
import { DiffView } from "./diff-view";
import { type Content, headerLines, languageOf } from "./edit-draft";
import { exactText, sameBytes } from "./exact-text";

/** Two states of an event's bytes: what differs in the payload, the headers and the content type. */
export function ContentDiff(props: {
  before: Content;
  after: Content;
  names: readonly [before: string, after: string];
}) {
  const { before, after, names } = props;
  const [wasLines, isLines] = [headerLines(before.headers), headerLines(after.headers)];
  const samePayload = sameBytes(before.payload, after.payload);
  const sameHeaders = wasLines === isLines;
  if (samePayload && sameHeaders && before.contentType === after.contentType) {
    return <p className="text-muted">They are the same, byte for byte.</p>;
  }
  return (
    <div className="grid gap-3">
      {before.contentType === after.contentType ? null : (
        <p className="wrap-anywhere">
          <span className="text-muted">Content type </span>
          <del className="font-mono text-sm text-danger">{before.contentType}</del> →{" "}
          <ins className="font-mono text-sm text-ok no-underline">{after.contentType}</ins>
        </p>
      )}
      {samePayload ? null : <PayloadDiff before={before} after={after} names={names} />}
      {sameHeaders ? null : (
        <div className="grid gap-1">
          <h3 className="text-sm font-medium text-muted">Headers</h3>
          <DiffView before={wasLines} after={isLines} names={[`headers of ${names[0]}`, `headers of ${names[1]}`]} />
        </div>
      )}
    </div>
  );
}

function PayloadDiff({ before, after, names }: { before: Content; after: Content; names: readonly [string, string] }) {
  const [was, is] = [exactText(before.payload), exactText(after.payload)];
  const asText = was !== null && is !== null;
  const marks = was?.mark !== is?.mark && asText;
  return (
    <div className="grid gap-1">
      <h3 className="text-sm font-medium text-muted">
        Payload{asText ? "" : ", as bytes"}
        {marks ? ` (the byte order mark ${is.mark ? "was added" : "was removed"})` : ""}
      </h3>
      <DiffView
        before={asText ? was.text : hexText(before.payload)}
        after={asText ? is.text : hexText(after.payload)}
        names={names}
        language={asText ? languageOf(after) : "text"}
      />
    </div>
  );
}

/** Without offsets: one inserted byte would otherwise change every line. */
function hexText(bytes: Uint8Array): string {
  return hexLines(bytes, 0, Number.POSITIVE_INFINITY)
    .map(({ hex, ascii }) => `${hex}  ${ascii}`)
    .join("\n");
}
