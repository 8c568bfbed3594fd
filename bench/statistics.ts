import * as groups from "@/app/(events)/api/v1/groups/route";
import * as age from "@/app/(observe)/api/v1/stats/age/route";
import * as differences from "@/app/(observe)/api/v1/stats/differences/route";
import * as flow from "@/app/(observe)/api/v1/stats/flow/route";
import * as markers from "@/app/(observe)/api/v1/stats/markers/route";
import * as success from "@/app/(observe)/api/v1/stats/redrive-success/route";
import * as size from "@/app/(observe)/api/v1/stats/size/route";
import * as top from "@/app/(observe)/api/v1/stats/top-errors/route";
import * as status from "@/app/(observe)/api/v1/status/route";
import { LOCAL_CALLER } from "@/lib/testing/local-caller";
import { percentiles } from "./figures";
import type { Reading } from "./scenario";

/** Every statistic of the console through the route's own handler: for each window that it offers, and for each name. */

const AIM_MS = 25;

const ROUTES = {
  "stats/size": size.GET,
  "stats/flow": flow.GET,
  "stats/age": age.GET,
  "stats/redrive-success": success.GET,
  "stats/top-errors": top.GET,
  "stats/markers": markers.GET,
  "stats/differences": differences.GET,
  groups: groups.GET,
  status: status.GET,
};
type Route = keyof typeof ROUTES;
const WINDOWS = ["", "from=-1h", "from=-6h", "from=-24h", "from=-7d", "from=-30d"];

/** Values that events of the store have. */
type Names = { source: string; errorCode: string; fingerprint: string };

export async function measureStatistics(names: Names, requests: number): Promise<Reading[]> {
  const filters: (keyof Names | "")[] = ["", "source", "errorCode", "fingerprint"];
  const cases: Reading[] = [];
  for (const route of Object.keys(ROUTES) as Route[]) {
    for (const window of WINDOWS) {
      for (const filter of filters) {
        if (!takes(route, window, filter)) continue;
        const query = [window, filter && `${filter}=${names[filter]}`].filter(Boolean).join("&");
        const name = `${window || "default"} ${filter}`;
        cases.push(await measureStatistic({ route, name, query }, requests, { max: AIM_MS }));
      }
    }
  }
  return cases;
}

type Asked = { route: Route; name: string; query: string };

export function measureStatistic(
  { route, name, query }: Asked,
  requests: number,
  bound?: Reading["bound"],
): Promise<Reading> {
  return percentiles(`${route} ${name}`, { warm: 8, times: requests, ...(bound ? { bound } : {}) }, () =>
    ask(route, query),
  );
}

/** The groups of a window count events: that is a list's work, and not a statistic. */
function takes(route: Route, window: string, filter: keyof Names | ""): boolean {
  if (route === "status") return window === "" && filter === "";
  if (route === "stats/differences") return window === "" && (filter === "" || filter === "source");
  if (route === "stats/markers") return filter === "";
  if (route === "groups") return window === "";
  return filter !== "fingerprint" || (route !== "stats/age" && route !== "stats/top-errors");
}

async function ask(route: Route, query: string): Promise<void> {
  const answer = await ROUTES[route](
    new Request(`http://localhost:3000/api/v1/${route}?${query}`, { headers: LOCAL_CALLER }),
    {
      params: Promise.resolve({}),
    },
  );
  if (!answer.ok) throw new Error(`${route}?${query}: ${await answer.text()}`);
}
