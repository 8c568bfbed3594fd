import { testInterleavings } from "./testing/interleavings";
import { runsOf, seedOfToday } from "./testing/model-runs";

testInterleavings(runsOf(12, seedOfToday()));
