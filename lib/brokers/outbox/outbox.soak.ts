import { describe } from "vitest";
import { describeBrokerOutages } from "@/lib/brokers/broker.conformance";
import { harness, onPostgres } from "@/lib/brokers/outbox/testing/outbox-broker";

describe("outbox", () => {
  onPostgres();

  describeBrokerOutages("outbox", harness);
});
