import { defineConfig, devices } from "@playwright/test";
import { chromiumPath } from "./scripts/chromium.ts";

/** As root Chromium has no sandbox; the others keep it from calling home and from needing a graphics card. */
const CHROMIUM_ARGS = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
];

/**
 * Journeys through the product as it ships. What runs: e2e/product.ts; what a test may use: e2e/fixtures.ts. Every journey runs on
 * the desktop; one that is tagged `@phone` runs on a phone as well.
 */
export default defineConfig({
  testDir: "e2e",
  testMatch: "**/*.e2e.ts",
  outputDir: "test-results",
  globalSetup: "./e2e/global-setup.ts",
  // Each worker has a product and a browser of its own and takes one file after the other. A journey waits much of its time: one
  // at a time left half of two cores idle, and with four a step waited longer for a core than for what it had asked for.
  workers: 3,
  fullyParallel: false,
  forbidOnly: Boolean(process.env.CI),
  // The gate repeats what failed once, alone on the machine, at its end (`--last-failed`).
  retries: 0,
  // A journey that takes more than 30 s by itself is tagged @soak or says why in its file.
  grepInvert: process.env.PARKADE_SOAK === "1" ? [] : /@soak/,
  // No journey has a bound of its own: what it waits for comes as soon as the machine has time for it. An endless wait ends
  // here, and one step's wait before that, so that its error names the step.
  timeout: 300_000,
  expect: { timeout: 60_000 },
  reporter: "list",
  use: {
    actionTimeout: 120_000,
    navigationTimeout: 120_000,
    // Recording each step takes a part of the cores: on the repeat, or when somebody asks for it.
    trace: process.env.PARKADE_E2E_TRACE === "1" || process.env.PARKADE_REPEAT === "1" ? "on" : "off",
    screenshot: "only-on-failure",
    locale: "en-GB",
    timezoneId: "UTC",
    launchOptions: { executablePath: chromiumPath() ?? undefined, args: CHROMIUM_ARGS },
  },
  projects: [
    // The journeys of phone.e2e.ts are those of a phone alone.
    {
      name: "desktop",
      testIgnore: "**/phone.e2e.ts",
      use: { ...devices["Desktop Chrome"], viewport: { width: 1440, height: 900 } },
    },
    {
      name: "phone",
      grep: /@phone/,
      use: { ...devices["Desktop Chrome"], viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    },
  ],
});
