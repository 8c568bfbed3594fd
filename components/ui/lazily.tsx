"use client";

import { type ComponentType, lazy, type ReactNode, Suspense } from "react";
import { loadAfterPaint, loadChunk } from "./load-chunk";

/**
 * A component whose code is fetched after the page is painted, or when it is first shown, if that is earlier; until
 * then nothing is rendered. For dialogs, panels and popups, which must not delay the page. Offline it opens when its
 * code could be fetched. `next/dynamic` can do neither.
 */
export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  loadAfterPaint(load);
  return whenOpened(load, null);
}

/** As `lazily`, fetched only when it is shown: for code so large that most visits should not pay for it. */
export function whenOpened<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  fallback: ReactNode,
): ComponentType<Props> {
  const Loaded = lazy(async () => ({ default: await loadChunk(load) }));
  // biome-ignore lint/correctness/noComponentHookFactories: called once for each component, when its file is loaded
  return function Lazily(props: Props) {
    return (
      <Suspense fallback={fallback}>
        <Loaded {...props} />
      </Suspense>
    );
  };
}
