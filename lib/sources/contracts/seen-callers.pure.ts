import { sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";

/** Names of lanes and of other targets of a source begin with the name of their source. */
const sourceOfLane = (name: string) => name.replace(/\.slow$/, "");

/** The callers of a contract that a viewer of some sources may see by name. */
export function isSeenCaller(viewer: Viewer, caller: string): boolean {
  return viewer.sources === "all" || sees(viewer, sourceOfLane(caller));
}
