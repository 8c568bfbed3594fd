import { AMQP_ERRORS } from "@/lib/retry/classify/amqp";
import { AWS_ERRORS } from "@/lib/retry/classify/aws";
import { classifier } from "@/lib/retry/classify/classifier";
import { HTTP_ERRORS } from "@/lib/retry/classify/http";
import { KAFKA_ERRORS } from "@/lib/retry/classify/kafka";
import { NATS_ERRORS } from "@/lib/retry/classify/nats";
import { NODE_ERRORS } from "@/lib/retry/classify/node";
import { POSTGRES_ERRORS } from "@/lib/retry/classify/postgres";
import { REDIS_ERRORS } from "@/lib/retry/classify/redis";

/** Judges the errors of every client library that the package knows. */
export const classifyAny = /* @__PURE__ */ classifier(
  NATS_ERRORS,
  KAFKA_ERRORS,
  REDIS_ERRORS,
  NODE_ERRORS,
  AMQP_ERRORS,
  POSTGRES_ERRORS,
  AWS_ERRORS,
  HTTP_ERRORS,
);
