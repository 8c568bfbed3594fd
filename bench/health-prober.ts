import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";

/**
 * Asks /healthz again and again over one connection, in a process of its own: the longest round trip is how long the event
 * loop of web answered no request, and how long web or this process waited for a processor. Linux counts that wait:
 * the round trip without it is the time of web itself. `start` resets, `stop` reports.
 */
const [url, webPid] = process.argv.slice(2) as [string, string];
const PAUSE_MS = 4;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

type Trip = { ms: number; waitedMs: number };
let trips: Trip[] = [];

/** Time that the main threads of both waited for a processor, so far. */
function waitedMs(): number {
  const ofThread = (pid: string | number) => Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
  return ofThread(webPid) + ofThread(process.pid);
}

function ask(): void {
  const startedMs = performance.now();
  const waitedBeforeMs = waitedMs();
  const again = () => {
    trips.push({ ms: performance.now() - startedMs, waitedMs: waitedMs() - waitedBeforeMs });
    setTimeout(ask, PAUSE_MS);
  };
  get(url, { agent }, (response) => {
    response.resume();
    response.once("end", again);
  }).once("error", again);
}

process.on("message", (message) => {
  if (message === "start") trips = [];
  else {
    const worst = (of: (trip: Trip) => number) => Math.max(0, ...trips.map(of));
    process.send?.({ tripMs: worst(({ ms }) => ms), blockMs: worst((trip) => trip.ms - trip.waitedMs) });
  }
});
process.once("disconnect", () => process.exit(0));
ask();
process.send?.({ ready: true });
