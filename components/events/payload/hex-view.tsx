"use client";

import { useMemo, useState } from "react";
import { formatBytes } from "@/lib/platform/plain/format.pure";
import { hexLines } from "./hex-lines";

const HEX_STEP = 512;

/** Bytes with their offsets, more of them on demand. */
export function HexView({ bytes }: { bytes: Uint8Array }) {
  const [lines, setLines] = useState(HEX_STEP);
  const shown = useMemo(() => hexLines(bytes, 0, lines), [bytes, lines]);
  const rest = bytes.length - shown.length * 16;
  return (
    <div className="overflow-x-auto px-3 py-2">
      <pre className="font-mono text-sm">
        {shown.map((line) => (
          <div key={line.offset}>
            <span className="text-faint">{line.offset}</span>
            {`  ${line.hex}  `}
            <span className="text-muted">{line.ascii}</span>
          </div>
        ))}
      </pre>
      {rest > 0 ? (
        <button
          type="button"
          className="text-accent hover:underline"
          onClick={() => setLines((now) => now + 4 * HEX_STEP)}
        >
          {formatBytes(rest)} more
        </button>
      ) : null}
    </div>
  );
}
