import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

/** What axe finds on the open page, each violation as one line. @param rules names of the rules that are judged; none = all */
export async function violations(page: Page, rules: string[] = []): Promise<string[]> {
  // Without it the findings of all frames are put together in a page of their own, which takes longer than to find them. Parkade
  // has one frame.
  const axe = new AxeBuilder({ page }).setLegacyMode();
  const found = await (rules.length === 0 ? axe : axe.withRules(rules)).analyze();
  return found.violations.flatMap((violation) =>
    violation.nodes.map((node) => `${violation.id}: ${violation.help} at ${node.target.join(" ")}`),
  );
}
