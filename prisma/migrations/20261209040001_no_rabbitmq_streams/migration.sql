-- Streams of RabbitMQ are not read any more. A position shows that a source read one; the setting of the others had no effect.
update sources set mode = 'stopped', mode_at = now(), mode_by = 'parkade', mode_reason = 'RabbitMQ streams are no longer read'
 where kind = 'rabbitmq' and mode <> 'stopped' and id in (select source_id from source_positions);

update sources set config = config - 'streamOffset' where kind = 'rabbitmq' and config ? 'streamOffset';

drop table source_positions;
