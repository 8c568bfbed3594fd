import { testInterleavings } from "@/lib/redrive/scenarios/testing/interleavings";
import { runsOf } from "@/lib/redrive/scenarios/testing/model-runs";

testInterleavings(runsOf(120));
