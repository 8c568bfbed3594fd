-- Apart from the index that replaces it: nothing can be read from here to the commit.
set local lock_timeout = '500ms';

drop index dlq_event_facts_failed;
