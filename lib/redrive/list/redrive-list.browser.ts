import { REDRIVE_STATES, type RedriveState } from "@/lib/states/redrive-state.pure";
import { WAITS, type Wait } from "@/lib/states/redrive-wait.pure";

const PAGE = 50;

/** `state`: `all`, `live` (not final), or one state. `waitsFor`: null = whatever they wait for. */
export type RedriveListState = { state: RedriveState | "all" | "live"; waitsFor: Wait["for"] | null };

/** What the address of the page asks for; what it does not know is everything. */
export function redriveListStateOf(state: string | null, waitsFor: string | null): RedriveListState {
  return {
    state: state === "live" ? state : (REDRIVE_STATES.find((each) => each === state) ?? "all"),
    waitsFor: WAITS.find((each) => each === waitsFor) ?? null,
  };
}

/** The address of the list of redrives in the API. */
export function redriveListPath({ state, waitsFor }: RedriveListState): string {
  const params = new URLSearchParams({ limit: String(PAGE) });
  if (state !== "all") params.set("state", state);
  if (waitsFor !== null) params.set("waitsFor", waitsFor);
  return `/api/v1/redrives?${params}`;
}
