export type { Deps } from "@/lib/redriving/deps";
