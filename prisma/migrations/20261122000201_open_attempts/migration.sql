-- Sends under way: whoever stops something asks how many there are. A few hundred rows, whatever was sent before.

create index redrive_attempts_open on redrive_attempts (redrive_id, id) where state = 'open';
