import type { Page } from "@playwright/test";

/** What an attack would show on a page: complaints of the browser, and what stands in the document that is not the console's. */
export type PageWatch = {
  /** Everything that was seen since the watch began, each once. */
  seen(): string[];
  /** Looks at the open document. */
  look(): Promise<void>;
};

export async function watch(page: Page, ownOrigin: string): Promise<PageWatch> {
  const found = new Set<string>();
  const say = (text: string) => found.add(`${pathOf(page)}: ${text}`);
  page.on("dialog", (dialog) => {
    say(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => say(`an error: ${error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    const isOwn = url.origin === ownOrigin || url.protocol === "data:" || url.protocol === "blob:";
    if (!isOwn) say(`a request to ${url.origin}`);
  });
  page.on("popup", () => say("a window was opened"));
  await page.exposeFunction("parkadeViolated", (text: string) => say(`the policy was violated: ${text}`));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sample }) => {
      (globalThis as unknown as { parkadeViolated(text: string): void }).parkadeViolated(
        `${effectiveDirective} ${blockedURI} ${sample}`,
      );
    });
  });
  return {
    seen: () => [...found],
    look: async () => {
      for (const text of await page.evaluate(strangers)) say(text);
    },
  };
}

function pathOf(page: Page): string {
  return URL.canParse(page.url()) ? new URL(page.url()).pathname : page.url();
}

/** Runs in the page: elements and attributes that no component of the console makes. */
function strangers(): string[] {
  const strange: string[] = [];
  const nonce = document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce;
  for (const script of document.scripts) {
    const isFile = script.src.startsWith(`${location.origin}/_next/static/`);
    if (!isFile && (script.nonce !== nonce || script.type === "module")) strange.push(`script ${script.outerHTML}`);
  }
  for (const element of document.querySelectorAll("iframe, object, embed, applet, base, frame, math, meta[http-equiv]"))
    strange.push(`<${element.localName}>`);
  for (const link of document.querySelectorAll("link[rel~=stylesheet], link[rel~=import]"))
    if (!(link as HTMLLinkElement).href.startsWith(`${location.origin}/_next/static/`))
      strange.push(`link ${link.outerHTML}`);
  for (const element of document.querySelectorAll("*"))
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name)) strange.push(`<${element.localName} ${name}>`);
      if (
        /^(href|src|action|formaction|data|xlink:href)$/.test(name) &&
        /^\W*(javascript|vbscript|data:text)/i.test(value)
      )
        strange.push(`<${element.localName} ${name}=${value}>`);
    }
  return strange;
}
