import type { ReactNode } from "react";

/**
 * The shapes of states. They are drawings, not characters: fonts draw ◐ or ⊘ differently, and a state must look the
 * same on every machine.
 */
export type ShapeName =
  | "disc"
  | "half"
  | "arrow"
  | "check"
  | "return"
  | "barred"
  | "triangle"
  | "fall"
  | "clock"
  | "pause"
  | "ring"
  | "cross"
  | "square";

const stroke = {
  fill: "none",
  stroke: "currentColor",
  strokeWidth: 1.6,
  strokeLinecap: "round",
  strokeLinejoin: "round",
} as const;

const PATHS: Record<ShapeName, ReactNode> = {
  disc: <circle cx="6" cy="6" r="4" fill="currentColor" />,
  half: (
    <>
      <circle cx="6" cy="6" r="4" {...stroke} />
      <path d="M6 2a4 4 0 0 0 0 8z" fill="currentColor" />
    </>
  ),
  arrow: <path d="M1.5 6h9M7 2.5 10.5 6 7 9.5" {...stroke} />,
  check: <path d="m1.8 6.4 2.9 2.9 5.5-6.4" {...stroke} />,
  return: <path d="M4.5 2 1.5 5l3 3M1.8 5H8a2.5 2.5 0 0 1 0 5H6" {...stroke} />,
  barred: (
    <>
      <circle cx="6" cy="6" r="4.2" {...stroke} />
      <path d="m3.1 8.9 5.8-5.8" {...stroke} />
    </>
  ),
  triangle: <path d="M6 1.6 11 10.4H1z" fill="currentColor" />,
  fall: <path d="M6 10.4 1 1.6h10z" {...stroke} strokeWidth={1.4} />,
  clock: (
    <>
      <circle cx="6" cy="6" r="4.2" {...stroke} />
      <path d="M6 3.6V6l1.8 1.2" {...stroke} />
    </>
  ),
  pause: <path d="M4 2.5v7M8 2.5v7" {...stroke} strokeWidth={2} />,
  ring: <circle cx="6" cy="6" r="4" {...stroke} />,
  cross: <path d="m2.5 2.5 7 7m0-7-7 7" {...stroke} />,
  square: <rect x="2.2" y="2.2" width="7.6" height="7.6" rx="1" fill="currentColor" />,
};

export function Shape({ name, className }: { name: ShapeName; className?: string }) {
  return (
    <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden className={className ?? "shrink-0"}>
      {PATHS[name]}
    </svg>
  );
}
