-- Shards the bytes of the events over the workers of a Citus cluster, and leaves the rest on the coordinator (docs/scale-out.md).
-- Run it once, on the coordinator, as the owner of the tables, after `migrate`, on Citus 13
-- with its nodes added. Web and worker stay stopped meanwhile: create_distributed_table moves the rows that are there.
--
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -v shards=32 -f prisma/scale-out/distribute.sql
--
-- Shards: two to four for each core of the workers that the cluster will have; they move between nodes, and their number is fixed.

\if :{?shards} \else \set shards 32 \endif

begin;

-- What arrived, byte for byte: more than half of the bytes of an event. Read by key alone: by a send, a page of one event, an export. Its
-- partitions of a day are made by Parkade as before, each with its shards.
select create_distributed_table('dlq_event_bodies', 'id', shard_count => :shards);

-- Further bytes of the same event, read beside its body: on the same shard, so that the join stays on one node.
select create_distributed_table('event_revisions', 'id', colocate_with => 'dlq_event_bodies');
select create_distributed_table('event_bounces', 'id', colocate_with => 'dlq_event_bodies');

-- Which audit entries cover an event.
select create_distributed_table('audit_subjects', 'event_id', colocate_with => 'dlq_event_bodies');

commit;

-- On the coordinator stay, and why:
--
-- dlq_events, dlq_event_facts    lists, counts and plans join them to each other, to sources, controls and aggregates in lateral
--                                subqueries with a limit, and every move locks them in order (`for no key update`): Citus refuses both
--                                over more than one shard.
-- redrive_items, open_items,     intents and ends lock the owners of slices, settle locks aggregates. An aggregate, a slice and their
-- aggregates, redrive_attempts,  items have different keys, so no distribution puts them on one shard.
-- slice_owners
-- send_intents                   a row has the intents of many redrives, and is joined to items by id.
-- aggregate_lines                change in the transaction of their events, and are joined to events and items by id.
-- event_keys, processed_events   are locked by key with the events (`for update`, `for key share`).
-- dlq_levels, dlq_flow, ...      appended by the statement that moves the events, and folded by ctid.
-- outbox                         an identity column, and claims with SKIP LOCKED.
-- sources, targets, policies,    small. Reference tables would make each change of a setting a two-phase commit on all nodes, for no
-- controls, redrives, settings   gain while the tables that join them are here.
