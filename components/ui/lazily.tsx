"use client";

import { type ComponentType, lazy, Suspense } from "react";
import { loadAfterPaint, loadChunk } from "./load-chunk";

/**
 * A component whose code is fetched after the page is painted, or when it is first shown, if that is earlier; until
 * then nothing is rendered. For dialogs, panels and popups, which must not delay the page. Offline it opens when its
 * code could be fetched. `next/dynamic` can do neither.
 */
export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const Loaded = lazy(async () => ({ default: await loadChunk(load) }));
  loadAfterPaint(load);
  // biome-ignore lint/correctness/noComponentHookFactories: called once for each component, when its file is loaded
  return function Lazily(props: Props) {
    return (
      <Suspense fallback={null}>
        <Loaded {...props} />
      </Suspense>
    );
  };
}
