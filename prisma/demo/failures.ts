import type { Failure, Rhythm } from "./failure-shape";

/** What fails in the demo: the errors of five services, each in the words of its language. */

const burst = (daysAgo: number, hours: number): Rhythm => ({ kind: "burst", daysAgo, hours });
const recent = (hours: number): Rhythm => ({ kind: "recent", hours });

function failuresOf(
  source: Failure["source"],
  language: Failure["language"],
  failures: Omit<Failure, "source" | "language">[],
): Failure[] {
  return failures.map((failure) => ({ source, language, ...failure }));
}

const ORDERS = failuresOf("orders", "java", [
  {
    errorCode: "UPSTREAM_5XX",
    eventType: "OrderCreated",
    type: "com.acme.orders.StockUnavailableException",
    weight: 16,
    attempts: [4, 6],
    rhythm: recent(30),
    message: ({ aggregate }) => `503 from stock-service while reserving items of ${aggregate}`,
    frames: [
      "com.acme.orders.StockClient.reserve(StockClient.java:88)",
      "com.acme.orders.OrderSaga.onCreated(OrderSaga.java:41)",
    ],
  },
  {
    errorCode: "TIMEOUT",
    eventType: "OrderCreated",
    type: "java.util.concurrent.TimeoutException",
    weight: 9,
    attempts: [3, 5],
    message: ({ random }) => `pricing did not answer within ${random.whole(2000, 3000)} ms`,
    frames: [
      "com.acme.orders.PricingClient.quote(PricingClient.java:57)",
      "com.acme.orders.OrderSaga.onCreated(OrderSaga.java:52)",
    ],
  },
  {
    errorCode: "VALIDATION_ERROR",
    eventType: "OrderCreated",
    type: "jakarta.validation.ConstraintViolationException",
    weight: 12,
    rhythm: burst(3, 9),
    broken: true,
    message: ({ id }) => `order ${id}: items must not be empty`,
    frames: [
      "com.acme.orders.OrderValidator.check(OrderValidator.java:33)",
      "com.acme.orders.OrderSaga.onCreated(OrderSaga.java:38)",
    ],
  },
  {
    errorCode: "VERSION_CONFLICT",
    eventType: "OrderPaid",
    type: "org.hibernate.StaleObjectStateException",
    weight: 5,
    attempts: [1, 2],
    message: ({ aggregate, version }) =>
      `row of ${aggregate} was updated by another transaction, expected version ${version}`,
    frames: [
      "com.acme.orders.OrderRepository.save(OrderRepository.java:71)",
      "com.acme.orders.OrderSaga.onPaid(OrderSaga.java:93)",
    ],
  },
  {
    errorCode: "IDEMPOTENCY_CONFLICT",
    eventType: "OrderPaid",
    type: "com.acme.orders.DuplicateCommandException",
    weight: 2,
    message: ({ random }) =>
      `command ${random.hex(8)}-${random.hex(4)}-4${random.hex(3)}-a${random.hex(3)}-${random.hex(12)} was already applied with another body`,
    frames: ["com.acme.orders.CommandLog.claim(CommandLog.java:29)"],
  },
  {
    errorCode: "UPSTREAM_4XX",
    eventType: "OrderCancelled",
    type: "com.acme.orders.RefundRejectedException",
    weight: 3,
    attempts: [2, 3],
    rhythm: burst(6, 12),
    message: ({ id }) => `409 from refunds: payment of order ${id} is not captured`,
    frames: [
      "com.acme.orders.RefundClient.refund(RefundClient.java:64)",
      "com.acme.orders.OrderSaga.onCancelled(OrderSaga.java:120)",
    ],
  },
  {
    errorCode: "DESERIALIZATION_ERROR",
    eventType: "OrderCreated",
    type: "com.fasterxml.jackson.databind.exc.MismatchedInputException",
    weight: 2,
    rhythm: burst(3, 9),
    broken: true,
    message: ({ random }) =>
      `Cannot deserialize value of type java.math.BigDecimal from String "n/a" at line 1, column ${random.whole(40, 90)}`,
    frames: ["com.acme.orders.OrderCodec.decode(OrderCodec.java:19)"],
  },
  {
    errorCode: "UNKNOWN",
    eventType: "OrderShipped",
    type: "java.lang.NullPointerException",
    weight: 2,
    attempts: [4, 4],
    message: () => 'Cannot invoke "com.acme.orders.Address.country()" because "order.address" is null',
    frames: [
      "com.acme.orders.TaxRules.rateFor(TaxRules.java:112)",
      "com.acme.orders.OrderSaga.onShipped(OrderSaga.java:140)",
    ],
  },
]);

const PAYMENTS = failuresOf("payments", "node", [
  {
    errorCode: "UPSTREAM_5XX",
    eventType: "PaymentRequested",
    type: "GatewayError",
    weight: 8,
    attempts: [5, 5],
    rhythm: burst(1, 5),
    message: ({ random }) => `502 Bad Gateway from acquirer, request req_${random.hex(18)}`,
    frames: [
      "Acquirer.charge (/app/src/acquirer.ts:77:11)",
      "async PaymentHandler.requested (/app/src/handlers/payment.ts:31:5)",
    ],
  },
  {
    errorCode: "RATE_LIMITED",
    eventType: "PaymentRequested",
    type: "TooManyRequestsError",
    weight: 5,
    attempts: [5, 8],
    rhythm: burst(1, 4),
    message: ({ random }) => `429 from acquirer, retry in ${random.whole(10, 60)} s`,
    frames: [
      "Acquirer.charge (/app/src/acquirer.ts:81:11)",
      "async PaymentHandler.requested (/app/src/handlers/payment.ts:31:5)",
    ],
  },
  {
    errorCode: "UPSTREAM_4XX",
    eventType: "PaymentRequested",
    type: "CardDeclinedError",
    weight: 3,
    message: ({ random }) =>
      `card declined: ${random.pick(["insufficient_funds", "do_not_honor"])} for pm_${random.hex(16)}`,
    frames: ["Acquirer.charge (/app/src/acquirer.ts:90:11)"],
  },
  {
    errorCode: "AUTH_ERROR",
    eventType: "RefundRequested",
    type: "AuthenticationError",
    weight: 4,
    attempts: [3, 3],
    rhythm: burst(5, 3),
    message: () => "401 from ledger: the client certificate has expired",
    frames: [
      "Ledger.book (/app/src/ledger.ts:44:13)",
      "async RefundHandler.requested (/app/src/handlers/refund.ts:22:5)",
    ],
  },
  {
    errorCode: "VALIDATION_ERROR",
    eventType: "RefundRequested",
    type: "ZodError",
    weight: 3,
    broken: true,
    message: ({ random }) => `amount: expected a positive number, received -${random.whole(1, 500)}.00`,
    frames: [
      "parse (/app/src/schemas/refund.ts:12:9)",
      "async RefundHandler.requested (/app/src/handlers/refund.ts:18:5)",
    ],
  },
  {
    errorCode: "TIMEOUT",
    eventType: "PaymentCaptured",
    type: "AbortError",
    weight: 3,
    attempts: [3, 4],
    message: ({ aggregate }) => `ledger booking of ${aggregate} was aborted after 3000 ms`,
    frames: [
      "Ledger.book (/app/src/ledger.ts:51:13)",
      "async CaptureHandler.captured (/app/src/handlers/capture.ts:19:5)",
    ],
  },
  {
    errorCode: "VERSION_CONFLICT",
    eventType: "PaymentCaptured",
    type: "ConflictError",
    weight: 2,
    attempts: [1, 2],
    message: ({ aggregate, version }) => `${aggregate} is at version ${version + 1}, event has ${version}`,
    frames: ["Payments.apply (/app/src/payments.ts:63:11)"],
  },
  {
    errorCode: "UNKNOWN",
    eventType: "PaymentRequested",
    type: "TypeError",
    weight: 1,
    attempts: [5, 5],
    rhythm: recent(8),
    message: () => "Cannot read properties of undefined (reading 'currency')",
    frames: [
      "toMinorUnits (/app/src/money.ts:8:24)",
      "async PaymentHandler.requested (/app/src/handlers/payment.ts:27:5)",
    ],
  },
]);

const SHIPPING = failuresOf("shipping", "python", [
  {
    errorCode: "UPSTREAM_5XX",
    eventType: "LabelRequested",
    type: "CarrierUnavailable",
    weight: 6,
    attempts: [4, 6],
    rhythm: burst(4, 10),
    message: ({ random }) => `carrier ${random.pick(["'northline'", "'parcelo'"])} answered 500`,
    frames: ["carrier.py:61:create_label", "worker.py:104:handle"],
  },
  {
    errorCode: "TIMEOUT",
    eventType: "LabelRequested",
    type: "httpx.ReadTimeout",
    weight: 4,
    attempts: [4, 4],
    message: ({ random }) => `The read operation timed out after ${random.whole(5, 9)}.0 s`,
    frames: ["carrier.py:58:create_label", "worker.py:104:handle"],
  },
  {
    errorCode: "VALIDATION_ERROR",
    eventType: "LabelRequested",
    type: "pydantic.ValidationError",
    weight: 4,
    broken: true,
    message: ({ random }) =>
      `1 validation error for Address: postcode '${random.whole(100, 999)}' does not match the country`,
    frames: ["models.py:31:validate_postcode", "worker.py:98:handle"],
  },
  {
    errorCode: "UPSTREAM_4XX",
    eventType: "PickupScheduled",
    type: "CarrierRejected",
    weight: 2,
    attempts: [2, 2],
    message: ({ id }) => `carrier refused pickup ${id}: the slot is taken`,
    frames: ["carrier.py:92:schedule_pickup", "worker.py:110:handle"],
  },
  {
    errorCode: "DESERIALIZATION_ERROR",
    eventType: "TrackingUpdated",
    type: "json.decoder.JSONDecodeError",
    weight: 1,
    message: ({ random }) =>
      `Expecting ',' delimiter: line 1 column ${random.whole(20, 400)} (char ${random.whole(20, 400)})`,
    frames: ["codec.py:14:decode", "worker.py:91:handle"],
  },
  {
    errorCode: "VERSION_CONFLICT",
    eventType: "TrackingUpdated",
    type: "StaleShipment",
    weight: 2,
    message: ({ aggregate }) => `${aggregate} already has a newer tracking state`,
    frames: ["shipment.py:77:apply", "worker.py:104:handle"],
  },
]);

const INVENTORY = failuresOf("inventory", "dotnet", [
  {
    errorCode: "TIMEOUT",
    eventType: "StockAdjusted",
    type: "Npgsql.NpgsqlException",
    weight: 5,
    attempts: [5, 5],
    rhythm: burst(2, 6),
    message: () => "The operation has timed out while reading from the stream",
    frames: [
      "Acme.Inventory.StockStore.Adjust(Guid sku) in /src/StockStore.cs:line 58",
      "Acme.Inventory.Consumer.Handle(StockAdjusted message) in /src/Consumer.cs:line 31",
    ],
  },
  {
    errorCode: "VERSION_CONFLICT",
    eventType: "StockAdjusted",
    type: "Acme.Inventory.ConcurrencyException",
    weight: 4,
    attempts: [3, 3],
    message: ({ aggregate, version }) => `${aggregate} expected version ${version}`,
    frames: ["Acme.Inventory.StockStore.Append(Guid sku) in /src/StockStore.cs:line 84"],
  },
  {
    errorCode: "VALIDATION_ERROR",
    eventType: "StockAdjusted",
    type: "Acme.Inventory.NegativeStockException",
    weight: 2,
    broken: true,
    message: ({ random }) => `stock of SKU-${random.whole(1000, 9999)} would become -${random.whole(1, 40)}`,
    frames: ["Acme.Inventory.Stock.Take(Int32 quantity) in /src/Stock.cs:line 27"],
  },
  {
    errorCode: "UPSTREAM_5XX",
    eventType: "ReservationReleased",
    type: "System.Net.Http.HttpRequestException",
    weight: 3,
    attempts: [4, 5],
    rhythm: burst(7, 8),
    message: () => "Response status code does not indicate success: 500 (Internal Server Error).",
    frames: ["Acme.Inventory.WarehouseClient.Release(Guid id) in /src/WarehouseClient.cs:line 40"],
  },
  {
    errorCode: "UNKNOWN",
    eventType: "ReservationReleased",
    type: "System.InvalidOperationException",
    weight: 1,
    attempts: [5, 5],
    message: () => "Sequence contains no matching element",
    frames: ["Acme.Inventory.Reservations.Find(Guid id) in /src/Reservations.cs:line 19"],
  },
  {
    errorCode: "IDEMPOTENCY_CONFLICT",
    eventType: "StockAdjusted",
    type: "Acme.Inventory.DuplicateMessageException",
    weight: 1,
    message: ({ random }) => `message ${random.hex(32)} was processed with another payload`,
    frames: ["Acme.Inventory.Inbox.Claim(String id) in /src/Inbox.cs:line 22"],
  },
]);

const NOTIFICATIONS = failuresOf("notifications", "node", [
  {
    errorCode: "RATE_LIMITED",
    eventType: "EmailRequested",
    type: "SendGridError",
    weight: 5,
    attempts: [6, 8],
    rhythm: burst(8, 6),
    message: () => "429 Too Many Requests: the daily quota is used up",
    frames: ["Mailer.send (/srv/mailer.js:52:13)", "async onEmailRequested (/srv/worker.js:20:3)"],
  },
  {
    errorCode: "UPSTREAM_4XX",
    eventType: "EmailRequested",
    type: "InvalidRecipientError",
    weight: 4,
    message: ({ random }) => `550 mailbox user${random.whole(100, 999)}@example.com does not exist`,
    frames: ["Mailer.send (/srv/mailer.js:61:13)", "async onEmailRequested (/srv/worker.js:20:3)"],
  },
  {
    errorCode: "TIMEOUT",
    eventType: "SmsRequested",
    type: "ConnectTimeoutError",
    weight: 3,
    attempts: [4, 4],
    message: () => "Connect Timeout Error (attempted address: sms.example:443, timeout: 10000ms)",
    frames: ["Sms.send (/srv/sms.js:31:11)", "async onSmsRequested (/srv/worker.js:34:3)"],
  },
  {
    errorCode: "VALIDATION_ERROR",
    eventType: "SmsRequested",
    type: "TemplateError",
    weight: 2,
    rhythm: burst(2, 4),
    message: ({ random }) => `template "${random.pick(["welcome_v2", "receipt_v3"])}" needs the field 'firstName'`,
    frames: ["render (/srv/templates.js:18:9)", "async onSmsRequested (/srv/worker.js:31:3)"],
  },
  {
    errorCode: "AUTH_ERROR",
    eventType: "PushRequested",
    type: "TokenExpiredError",
    weight: 2,
    attempts: [3, 3],
    rhythm: recent(14),
    message: () => "403 from push gateway: the signing key has expired",
    frames: ["Push.send (/srv/push.js:27:11)"],
  },
  {
    errorCode: "UNKNOWN",
    eventType: "PushRequested",
    type: "RangeError",
    weight: 1,
    attempts: [5, 5],
    message: () => "Invalid time value",
    frames: ["quietHours (/srv/schedule.js:9:17)", "async onPushRequested (/srv/worker.js:47:3)"],
  },
]);

export const FAILURES: Failure[] = [...ORDERS, ...PAYMENTS, ...SHIPPING, ...INVENTORY, ...NOTIFICATIONS];
