import { createParker } from "@/lib/kit/park/park";

/** Parks events one after the other until somebody kills it, and prints each that is safe. Arguments: url, folder, name. */
const [url, spoolDir, name] = process.argv.slice(2) as [string, string, string];
const parker = createParker({ url, source: "orders", spoolDir, waitMsMax: 10_000 });
for (let n = 0; ; n++) {
  const { status, eventId } = await parker.park(new Error("down"), { eventId: `${name}-${n}`, payload: { n } });
  process.stdout.write(`${status} ${eventId}\n`);
}
