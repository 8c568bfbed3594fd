import { describe } from "vitest";

/** A suite that needs a server. Where the server is missing the suite is skipped, and its title says why. */
export function describeWith(missing: string | null, title: string, body: () => void): void {
  describe.skipIf(missing !== null)(missing === null ? title : `${title} (skipped: ${missing})`, body);
}
