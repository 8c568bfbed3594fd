import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { Coalescer } from "@/lib/retry/coalesce";

type SharedRead = { route: string; params: unknown; query: string; viewer: Viewer };

/**
 * Identical reads of this process that are under way at the same time share one run and its answer, also when the run
 * fails. A read that is asked for after a change was answered never joins a run that began before the change: a viewer
 * sees the viewer's own changes.
 */
export class SharedReads {
  readonly #underWay = new Coalescer<string>();
  #changesFinished = 0;

  /** `run` returns the text of the answer. It finishes even if every caller has left: a read takes no signal. */
  read({ route, params, query, viewer }: SharedRead, run: () => Promise<string>): Promise<string> {
    return this.#underWay.run(JSON.stringify([this.#changesFinished, route, params, query, viewer]), run);
  }

  /** Called before a change is answered, also when it failed: a part of it may be stored. */
  finishChange(): void {
    this.#changesFinished++;
  }
}
