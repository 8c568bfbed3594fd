import { testInterleavings } from "@/lib/redrive/scenarios/testing/interleavings";
import { runsOf, seedOfToday } from "@/lib/redrive/scenarios/testing/model-runs";

testInterleavings(runsOf(12, seedOfToday()));
