"use client";

import dynamic from "next/dynamic";

/** recharts is larger than the rest of a page together: it comes when a chart is drawn, never with the first load. */
const ChartSkeleton = () => <div className="skeleton h-full w-full" />;

export const SizeChart = dynamic(() => import("./size-chart"), { ssr: false, loading: ChartSkeleton });
export const TimeLines = dynamic(() => import("./time-lines"), { ssr: false, loading: ChartSkeleton });
