import { ADAPTER_ERRORS } from "@/lib/retry/classify/adapters";
import { AMQP_ERRORS } from "@/lib/retry/classify/amqp";
import { AWS_ERRORS } from "@/lib/retry/classify/aws";
import { classifier } from "@/lib/retry/classify/classifier";
import { HTTP_ERRORS } from "@/lib/retry/classify/http";
import { KAFKA_ERRORS } from "@/lib/retry/classify/kafka";
import { NATS_ERRORS } from "@/lib/retry/classify/nats";
import { NODE_ERRORS } from "@/lib/retry/classify/node";
import { POSTGRES_ERRORS } from "@/lib/retry/classify/postgres";

/** Judges the errors of every kind of target. NATS and Kafka come first: they also know errors by other fields than `code`. */
export const classify = classifier(
  ADAPTER_ERRORS,
  NATS_ERRORS,
  KAFKA_ERRORS,
  NODE_ERRORS,
  AMQP_ERRORS,
  POSTGRES_ERRORS,
  AWS_ERRORS,
  HTTP_ERRORS,
);
