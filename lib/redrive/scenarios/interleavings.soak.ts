import { testInterleavings } from "./testing/interleavings";
import { runsOf } from "./testing/model-runs";

testInterleavings(runsOf(120));
