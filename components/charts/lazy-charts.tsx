"use client";

import dynamic from "next/dynamic";

/** recharts is larger than the rest of a page, so it is loaded when a chart is drawn, not with the page. */
const ChartSkeleton = () => <div className="skeleton h-full w-full" />;

export const SizeChart = dynamic(() => import("./size-chart"), { ssr: false, loading: ChartSkeleton });
export const TimeLines = dynamic(() => import("./time-lines"), { ssr: false, loading: ChartSkeleton });
