import { createParker } from "@/lib/kit/park/park";

/**
 * Parks events one after the other until somebody kills it, and prints each that is safe. Arguments: url, folder, name.
 * Its process id is 1, as in a container.
 */
const [url, spoolDir, name] = process.argv.slice(2) as [string, string, string];
Object.defineProperty(process, "pid", { value: 1 });
const parker = createParker({ url, source: "orders", spoolDir, waitMsMax: 10_000 });
for (let n = 0; ; n++) {
  const { status, eventId } = await parker.park(new Error("down"), { eventId: `${name}-${n}`, payload: { n } });
  process.stdout.write(`${status} ${eventId}\n`);
}
