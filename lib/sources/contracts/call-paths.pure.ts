import { sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";

/** One target as a stage: how long its operation may take, and the sources and targets that wait for it. */
export type Stage = { deadlineMs: number; marginMs: number; callers: readonly string[] };

/** The longest way from a caller down to a source. */
export type CallPath = {
  caller: string;
  /** Below the caller, the source last. */
  stages: string[];
  /** Of the deadlines of the stages. */
  sumMs: number;
  /** Of the caller. */
  deadlineMs: number;
  marginMs: number;
  /** Why it cannot be judged; null = it can. */
  fault: string | null;
};

/**
 * The longest path from every caller, at any distance, down to the stage of this name. Each stage is visited once, so that a thousand
 * stages that call each other in every way cost no more than their edges.
 */
export function callPaths(name: string, stages: ReadonlyMap<string, Stage>): CallPath[] {
  const { order, circle } = callersInOrder(name, stages);
  const faulty = (caller: string, fault: string): CallPath => {
    return { caller, stages: [], sumMs: 0, deadlineMs: 0, marginMs: 0, fault };
  };
  if (circle !== null) return [faulty(circle, `${circle} calls itself: remove one of the callers between`)];
  const below = new Map<string, { sumMs: number; stages: string[] }>([[name, { sumMs: 0, stages: [] }]]);
  const paths: CallPath[] = [];
  for (const at of order) {
    const stage = stages.get(at);
    const path = below.get(at)!;
    if (at !== name) {
      if (stage === undefined) paths.push(faulty(at, `there is no source or target ${at} any more`));
      else paths.push({ caller: at, ...path, deadlineMs: stage.deadlineMs, marginMs: stage.marginMs, fault: null });
    }
    if (stage === undefined) continue;
    const sumMs = path.sumMs + stage.deadlineMs;
    for (const caller of stage.callers) {
      const known = below.get(caller);
      if (known === undefined || known.sumMs < sumMs) below.set(caller, { sumMs, stages: [at, ...path.stages] });
    }
  }
  return paths;
}

/** The stage and all its callers, each before those that call it. `circle`: a name that calls itself over others. */
function callersInOrder(name: string, stages: ReadonlyMap<string, Stage>): { order: string[]; circle: string | null } {
  const done = new Set<string>();
  const open = new Set<string>();
  const postorder: string[] = [];
  let circle: string | null = null;
  const visit = (at: string) => {
    if (open.has(at)) circle ??= at;
    if (open.has(at) || done.has(at)) return;
    open.add(at);
    for (const caller of stages.get(at)?.callers ?? []) visit(caller);
    open.delete(at);
    done.add(at);
    postorder.push(at);
  };
  visit(name);
  return { order: postorder.reverse(), circle };
}

/** Names of lanes and of other targets of a source begin with the name of their source. */
const sourceOfLane = (name: string) => name.replace(/\.slow$/, "");

/** The callers of a contract that a viewer of some sources may see by name. */
export function isSeenCaller(viewer: Viewer, caller: string): boolean {
  return viewer.sources === "all" || sees(viewer, sourceOfLane(caller));
}
