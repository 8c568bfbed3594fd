import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { systemClock } from "@/lib/platform/clock";
import { freePort } from "@/lib/testing/free-port";
import { BUNDLING } from "./build";

test("the built client of Pub/Sub signs with the key of a service account", async () => {
  const outdir = mkdtempSync(join(tmpdir(), "parkade-built-"));
  try {
    await build({ ...BUNDLING, entryPoints: ["lib/brokers/pubsub/client.ts"], outdir });
    const file = pathToFileURL(join(outdir, "client.mjs")).href;
    const { PubsubClient }: typeof import("@/lib/brokers/pubsub/client") = await import(/* @vite-ignore */ file);
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    const account = { type: "service_account", client_email: "parkade@shop.example", private_key: privateKey };
    const endpoint = `https://127.0.0.1:${await freePort()}`;
    const config = { subscription: "parkade", project: "shop", endpoint, credentials: JSON.stringify(account) };
    const client = new PubsubClient(config, { clock: systemClock });
    // It signs before it connects, and nothing listens there.
    const refused = expect.objectContaining({ code: "ECONNREFUSED" });
    await expect(client.call("GetTopic", { topic: "projects/shop/topics/t" })).rejects.toEqual(refused);
    client.close();
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
});
