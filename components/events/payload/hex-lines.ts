const LINE_BYTES = 16;

type HexLine = { offset: string; hex: string; ascii: string };

/** A hex dump as `xxd` prints it: offset, bytes in pairs, printable ASCII. */
export function hexLines(bytes: Uint8Array, from: number, lines: number): HexLine[] {
  const out: HexLine[] = [];
  for (let at = from; at < bytes.length && out.length < lines; at += LINE_BYTES) {
    const slice = bytes.subarray(at, at + LINE_BYTES);
    let hex = "";
    let ascii = "";
    for (const [index, byte] of slice.entries()) {
      hex += byte.toString(16).padStart(2, "0") + (index % 2 === 1 ? " " : "");
      ascii += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·";
    }
    out.push({ offset: at.toString(16).padStart(8, "0"), hex: hex.padEnd(LINE_BYTES * 2.5), ascii });
  }
  return out;
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
