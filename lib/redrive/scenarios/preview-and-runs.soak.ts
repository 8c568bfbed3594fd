import { runsOf } from "./testing/model-runs";
import { testPreviewsAndRuns } from "./testing/previews-and-runs";

testPreviewsAndRuns(runsOf(40));
