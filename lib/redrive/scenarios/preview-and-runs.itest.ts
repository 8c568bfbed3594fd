import { runsOf, seedOfToday } from "@/lib/redrive/scenarios/testing/model-runs";
import { testPreviewsAndRuns } from "@/lib/redrive/scenarios/testing/previews-and-runs";

testPreviewsAndRuns(runsOf(4, seedOfToday()));
