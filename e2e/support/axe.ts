import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

/** What axe finds on the open page, each violation as one line. */
export async function violations(page: Page): Promise<string[]> {
  // Without it the findings of all frames are put together in a page of their own, which takes longer than to find them. Parkade
  // has one frame.
  const found = await new AxeBuilder({ page }).setLegacyMode().analyze();
  return found.violations.flatMap((violation) =>
    violation.nodes.map((node) => `${violation.id}: ${violation.help} at ${node.target.join(" ")}`),
  );
}
