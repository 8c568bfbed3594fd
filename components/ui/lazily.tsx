"use client";

import { type ComponentType, lazy, type ReactNode, Suspense } from "react";
import { loadAtTouch, loadChunk } from "./load-chunk";

/**
 * The component `name` of a file whose code is fetched when the page is first touched, or when it is shown, if that is
 * earlier; until then nothing is rendered. For dialogs, panels and popups, which must not delay the page. Offline it
 * opens when its code could be fetched. `next/dynamic` can do neither.
 */
export function lazily<Name extends string, File extends Record<Name, ComponentType<never>>>(
  load: () => Promise<File>,
  name: Name,
): File[Name] {
  loadAtTouch(load);
  const component = async () => (await load())[name] as ComponentType<object>;
  return whenOpened(component, null) as ComponentType<never> as File[Name];
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
