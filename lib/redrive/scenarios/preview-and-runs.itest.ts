import { runsOf, seedOfToday } from "./testing/model-runs";
import { testPreviewsAndRuns } from "./testing/previews-and-runs";

testPreviewsAndRuns(runsOf(4, seedOfToday()));
