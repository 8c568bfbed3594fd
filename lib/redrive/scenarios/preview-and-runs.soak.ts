import { runsOf } from "@/lib/redrive/scenarios/testing/model-runs";
import { testPreviewsAndRuns } from "@/lib/redrive/scenarios/testing/previews-and-runs";

testPreviewsAndRuns(runsOf(40));
