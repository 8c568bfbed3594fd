"use client";

import { type ComponentType, lazy, Suspense } from "react";

/**
 * A component whose code is fetched when it is first shown; until then nothing stands in its place. For what opens on
 * demand (dialogs, panels, popups): the list page must not wait for it. `next/dynamic` does the same for 2 KB more.
 */
export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const Loaded = lazy(async () => ({ default: await load() }));
  // biome-ignore lint/correctness/noComponentHookFactories: called once for each component, when its file is loaded
  return function Lazily(props: Props) {
    return (
      <Suspense fallback={null}>
        <Loaded {...props} />
      </Suspense>
    );
  };
}
