/**
 * Runtimes, frameworks and libraries: their frames say how the failing code was called, not which code failed. A frame is told
 * by the path of its file and by its package.
 */

const PATH = new RegExp(
  [
    "node_modules|^(?:events|net|timers|domain|fs|_?stream\\w*|_http_\\w+|_tls_\\w+|dns|zlib|vm|module|bootstrap_node|buffer|util|child_process|internal/\\S+)\\.js$|^node:|^internal/|^ext:|^bun:|/\\.yarn/|/\\.pnpm/|^<anonymous>$|^native$|^index [0-9]|webpack/(?:runtime|bootstrap)|^https://(?:deno\\.land|esm\\.sh)",
    "site-packages|dist-packages|/lib/python[0-9]|[\\\\/]Python[0-9]+[\\\\/]lib[\\\\/]|^<frozen |^<string>$|/var/runtime/|/var/lang/|\\.pyenv/versions",
    "/gems/|^<internal:|/lib/ruby/|\\.rbenv/versions|/bundle/ruby/",
    "(?:^|[\\\\/])vendor[\\\\/]|\\[internal function\\]|\\.phar",
    "/go/pkg/mod/|@v[0-9]|/usr/(?:local/)?(?:lib|go|include|share|src/debug)/|/(?:go|Go|goroot|GOROOT)/src/(?:runtime|net|encoding|database|os|io|sync|context|fmt|reflect|testing|bufio|crypto)/|/toolchain@|hostedtoolcache/go",
    "^/?rustc/|[./]cargo/(?:registry|git)/|/\\.?rustup/|library/(?:std|core|alloc)/src",
    "(?:^|/)deps/",
    "^dart:|^org-dartlang|/\\.pub-cache/",
    "^package:(?:flutter|http|dio|async|stack_trace|grpc|test|test_api|shelf|retry|sqflite|collection|bloc|provider|riverpod|postgres|mysql1|redis|dart_amqp|json_annotation|built_value|googleapis|sentry)[/ ]",
    "^/lib(?:32|64)?/|\\.build/checkouts/|libc\\.so|libstdc\\+\\+|libpthread|ld-linux|libswift|libdispatch|libsystem|^(?:CoreFoundation|Foundation|UIKit\\w*|CFNetwork|GraphicsServices|QuartzCore|SwiftUI|AppKit|AttributeGraph|dyld|libobjc\\S*|libc\\+\\+\\S*)$|/sysdeps/|\\.\\./csu/|^\\.\\./(?:nptl|sysdeps)|/boost/",
  ].join("|"),
);

/**
 * By language, as `io.` is a package of Go and the start of many of the JVM: packages of the JVM, namespaces of .NET, names and
 * crates of C++, Rust and Swift, modules of Go, modules of the BEAM, globals of JavaScript.
 */
const NAMES = {
  jvm: startsWith([
    "(?:java|javax|jakarta|jdk|sun|com\\.sun|kotlin|kotlinx|scala|akka|groovy|clojure|android|androidx|dalvik|reactor|rx|zio|cats|fs2|play|feign|okhttp3|okio|retrofit2|dagger|freemarker|antlr|javassist|net\\.(?:bytebuddy|sf|jodah|logstash|minidev|ttddyy|snowflake|javacrumbs)|redis\\.clients|ch\\.qos|oracle|bolts)\\.",
    "_COROUTINE|com\\.sun\\.proxy|\\$Proxy",
    "org\\.(?:springframework|hibernate|apache|eclipse|jboss|postgresql|mariadb|slf4j|junit|mockito|redisson|mongodb|aspectj|codehaus|glassfish|wildfly|jooq|flywaydb|liquibase|quartz|testng|axonframework|reactivestreams|elasticsearch|opensearch|mybatis|thymeleaf|objectweb|yaml|json|xml|h2|hsqldb|bson|keycloak|infinispan|conscrypt|koin|jetbrains|modelmapper|http4s|typelevel)\\.",
    "io\\.(?:netty|micrometer|grpc|vertx|quarkus|smallrye|ktor|opentelemetry|opentracing|lettuce|confluent|reactivex|axoniq|github|temporal|undertow|sentry|kubernetes|nats|micronaut|dropwizard|awspring|projectreactor|r2dbc|jsonwebtoken|swagger|arrow|cloudevents|debezium|dapr|jaegertracing|minio|prometheus|rsocket|zipkin|zeebe|camunda|helidon|javalin|jsonrpc|perfmark)\\.",
    "com\\.(?:fasterxml|rabbitmq|zaxxer|amazonaws|azure|microsoft|google|squareup|datastax|mongodb|mysql|netflix|github|ibm|oracle|typesafe|lightbend|thoughtworks|twitter|facebook|couchbase|hazelcast|jayway|newrelic|datadog|sap|solacesystems|alibaba|mchange|atomikos|codahale|jcraft|stripe|twilio|clevercloud|android|intellij|salesforce|gargoylesoftware|ctc)\\.|software\\.amazon|dev\\.(?:failsafe|langchain4j)\\.",
  ]),
  dotnet: startsWith([
    "(?:System|Microsoft|MassTransit|NServiceBus|Rebus|EasyNetQ|Newtonsoft|Npgsql|Polly|Dapper|RabbitMQ|Confluent|Azure|Amazon|Google|Grpc|MediatR|FluentValidation|AutoMapper|Serilog|StackExchange|MySql|MySqlConnector|Oracle(?:Internal)?|MongoDB|Hangfire|Quartz|Castle|Autofac|Wolverine|Elastic|Elasticsearch|Nest|Refit|RestSharp|Flurl|Moq|Xunit|NUnit|NLog|OpenTelemetry|Orleans|Marten|Topshelf|GreenPipes|Minio|Stripe|DotNetCore|Silverback|KafkaFlow|JasperFx|Interop|Internal)\\.",
    "Interop",
  ]),
  native: startsWith([
    "(?:std|core|alloc|tokio|futures\\w*|hyper\\w*|tower\\w*|axum|actix\\w*|anyhow|eyre|color_eyre|serde\\w*|sqlx\\w*|diesel|reqwest|rdkafka|lapin|backtrace|tracing\\w*|rayon\\w*|tonic|redis|aws_\\w+|test|panic_unwind|mio|rustls|native_tls|chrono|warp|rocket|lambda_runtime|async_std|h2|deadpool\\w*|sea_orm\\w*|tokio_\\w+|boost|__gnu_cxx|__cxxabiv1|absl|folly|google|grpc|testing|fmt|spdlog|rd_kafka\\w*|AmqpClient|pqxx|cppkafka)::",
    "(?:rust_begin_unwind|rust_panic|__rust\\w*|_start|__libc\\w*|__GI_\\w*|__cxa_\\w*|__gxx\\w*|__pthread\\w*|_Unwind\\w*|raise|gsignal|abort|__assert\\w*|start_thread|clone3?|thread_start|_start|start|malloc\\w*|_int_\\w+|free|realloc|calloc|mem(?:cpy|set|move)|str(?:len|cpy|cmp)|__kernel_\\w+|__restore_rt|epoll_wait|poll|(?:rd_kafka|curl|SSL|mysql|sqlite3|amqp|uv|zmq|grpc|gpr)_\\w+|PQ\\w+|BaseThreadInitThunk|RtlUserThreadStart|swift_\\w+|_swift_\\w+|\\?\\?|main|_main|__lambda\\w*|panic|created by)$",
    "<(?:\\w+ as )?(?:alloc|core|std|tokio|futures\\w*|hyper\\w*|tower\\w*)::",
    "(?:Foundation|Swift|NIO\\w*|_?NIO|Dispatch|libdispatch|UIKit\\w*|AsyncHTTPClient|Vapor|Fluent\\w*|Alamofire|Combine|SwiftUI|XCTest|PostgresNIO|GRPC\\w*|_Concurrency|closure #[0-9]+ in NIO)\\.",
  ]),
  go: startsWith([
    "(?:runtime|net|net/\\w+|net/http/\\w+|encoding/\\w+|database/sql(?:/\\w+)?|os|os/\\w+|io|io/\\w+|sync|sync/\\w+|context|fmt|reflect|strconv|strings|bytes|time|crypto/\\w+|crypto|bufio|errors|log|log/slog|sort|testing|syscall|internal/\\w+|internal/\\w+/\\w+|runtime/\\w+|text/\\w+|html/\\w+|regexp|path|path/\\w+|math|mime/\\w+|compress/\\w+|slices|maps|iter)\\.[\\w(]",
    "(?:google\\.golang\\.org|golang\\.org|gopkg\\.in|go\\.uber\\.org|go\\.opentelemetry\\.io|github\\.com/(?:pkg/errors|lib/pq|jackc|go-sql-driver|segmentio|IBM/sarama|Shopify/sarama|rabbitmq|streadway|gin-gonic|labstack|gorilla|aws|sirupsen|stretchr|redis|go-redis|confluentinc|nats-io|spf13|cockroachdb|hashicorp|twmb|ThreeDotsLabs|jmoiron|go-gorm|grpc-ecosystem|gofiber|valyala|getsentry)/?)",
    "(?:panic|main)$",
  ]),
  beam: startsWith([
    "(?:Enum|Stream|GenServer|Task|Agent|Supervisor|Ecto|DBConnection|Postgrex|MyXQL|Phoenix|Plug|Broadway|GenStage|Oban|Jason|Poison|Tesla|Finch|Mint|HTTPoison|Redix|AMQP|Absinthe|Logger|Mix|ExUnit|Kernel|String|Map|Keyword|List|Process|Registry|Bandit|Cowboy|Swoosh|Req|Access|Protocol|Regex|Integer|Date|DateTime|File|IO|Module|NimblePool|Commanded|Horde|Flow)(?:\\.[A-Z]\\w*)*[.:]",
    ":?(?:gen_server|gen_statem|gen_event|gen|proc_lib|lists|maps|erlang|ets|mnesia|supervisor|erl_eval|timer|io_lib|binary|unicode|ssl|gen_tcp|inet|httpc|rpc|logger|hackney\\w*|jsx\\w*|jiffy|cowboy\\w*|ranch\\w*|amqp_\\w+|brod\\w*|kpro\\w*|epgsql\\w*|poolboy|wpool\\w*|lager|rebar\\w*|eunit\\w*|dict|orddict|proplists|queue|string|file|zlib|crypto|public_key|re)[.:]",
  ]),
  script: startsWith([
    "process\\.(?:processTicks|emit|_tick)|Promise\\.(?:all|any|race|then)|(?:new )?Promise$|Array\\.|JSON\\.|Generator\\.|Map\\.forEach|Set\\.forEach|String\\.|RegExp\\.|Reflect\\.|Atomics\\.|Module\\._|Module\\.(?:load|require)|asyncGeneratorStep|__awaiter|_asyncToGenerator|step$|fulfilled$|rejected$|__webpack_require__|eval$",
  ]),
};

function startsWith(names: readonly string[]): RegExp {
  return new RegExp(`^(?:${names.join("|")})`);
}

/** Plumbing that a compiler or a proxy writes beside the code of the application. */
const PLUMBING =
  /\$\$FastClassBy|\.(?:GeneratedMethodAccessor|NativeMethodAccessorImpl)|_Proxy\$_\$\$|\.\$Proxy[0-9]|\$\$_WeldClientProxy/;

/** The applications of Erlang and Elixir that a stack names in brackets before the file. */
const BEAM_APPLICATION =
  /^(?:elixir|stdlib|kernel|erts|ecto\w*|db_connection|postgrex|myxql|tds|phoenix\w*|plug\w*|cowboy\w*|ranch|broadway\w*|gen_stage|oban\w*|jason|poison|tesla|finch|mint\w*|httpoison|hackney|redix|amqp\w*|brod\w*|kafka_\w+|absinthe\w*|telemetry\w*|logger|mix|iex|ex_unit|ssl|crypto|inets|bandit|thousand_island|nimble_\w+|sentry|ex_aws\w*|swoosh|req|commanded|eventstore|flow|castore|decimal|timex|guardian|comeonin|bamboo|hammer|cachex|con_cache|horde|libcluster|poolboy|quantum|opentelemetry\w*|spandex\w*)$/;

export const isLibraryPath = (path: string) => path.includes("-packages/") || PATH.test(path);
export const isLibraryName = (name: string, language: keyof typeof NAMES) =>
  NAMES[language].test(name) || (language === "jvm" && name.includes("$") && PLUMBING.test(name));
export const isLibraryApplication = (name: string) => BEAM_APPLICATION.test(name);
