/** Levels that are indented; deeper ones stay at this one. */
const LEVELS_MAX = 20;

/** A payload whose text is hard to read as it is, in lines: the fields of a form, the elements of XML. null = it is neither. */
export function readableLines(text: string, contentType: string): string | null {
  if (/^\s*application\/x-www-form-urlencoded\b/i.test(contentType)) return formLines(text);
  return /^\s{0,100}<[?!a-z_]/i.test(text) && !/^\s{0,100}<!doctype html/i.test(text) ? xmlLines(text) : null;
}

function formLines(text: string): string {
  return [...new URLSearchParams(text)].map(([name, value]) => `${name} = ${value}`).join("\n");
}

/** Breaks lines between tags alone, also where a section of CDATA holds some: `raw` shows the text as it is. */
function xmlLines(text: string): string {
  const lines: string[] = [];
  let level = 0;
  for (const line of text.trim().split(/(?<=>)\s*(?=<)/)) {
    const closes = line.startsWith("</");
    if (closes) level = Math.max(0, level - 1);
    lines.push("  ".repeat(Math.min(level, LEVELS_MAX)) + line);
    if (!closes && opensOnly(line)) level += 1;
  }
  return lines.join("\n");
}

/** Whether a line is a start tag whose element ends on a later line. */
function opensOnly(line: string): boolean {
  return /^<[^?!]/.test(line) && !line.endsWith("/>") && !line.includes("</");
}
