import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of a share group, which no client of Node.js can be. Arguments: bootstrap, topic, group, REJECT or RELEASE, and
 * how many deliveries to acknowledge so before it ends.
 */
class ShareGroup {
  public static void main(String[] arguments) {
    var acknowledgement = AcknowledgeType.valueOf(arguments[3]);
    var left = Integer.parseInt(arguments[4]);
    Map<String, Object> settings =
        Map.of("bootstrap.servers", arguments[0], "group.id", arguments[2], "share.acknowledgement.mode", "explicit");
    var bytes = new ByteArrayDeserializer();
    try (var consumer = new KafkaShareConsumer<>(settings, bytes, bytes)) {
      consumer.subscribe(List.of(arguments[1]));
      while (left > 0) {
        for (var record : consumer.poll(Duration.ofMillis(500))) {
          consumer.acknowledge(record, acknowledgement);
          left--;
        }
        consumer.commitSync();
      }
    }
  }
}
