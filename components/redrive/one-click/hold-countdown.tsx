"use client";

import { useEffect, useState } from "react";

const STEP_MS = 250;

/** `Sends in 4 s.`, counting down. A screen reader reads the whole wait once, not each second. */
export function HoldCountdown({ untilMs }: { untilMs: number }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), STEP_MS);
    return () => clearInterval(timer);
  }, []);
  const [atFirst] = useState(() => Math.max(1, Math.round((untilMs - Date.now()) / 1_000)));
  const seconds = Math.max(0, Math.ceil((untilMs - now) / 1_000));
  return (
    <>
      <span className="sr-only">Sends in {atFirst} seconds.</span>
      <span aria-hidden className="tabular-nums">
        {seconds === 0 ? "Sending." : `Sends in ${seconds} s.`}
      </span>
    </>
  );
}
