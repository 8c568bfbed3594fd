-- The brake holds for every deliver redrive, with or without a canary: { ratio, window, minSample }, null = switched off.
alter table redrives add column brake jsonb;
-- When the running sample of the brake began: at the start and at each resume. Bounces of earlier sends are not in it.
alter table redrives add column sampled_from timestamptz;
-- A canary's step is sent and waits until then for what comes back; null = its sends are not complete.
alter table redrives add column waiting_until timestamptz;

-- Redrives that are under way keep what they were promised.
update redrives
   set brake = jsonb_build_object('ratio', canary->'stopAtFailureRatio',
                                  'window', greatest((canary->>'window')::int, 10), 'minSample', 10),
       canary = canary || jsonb_build_object('quietMs', 60000)
 where canary is not null;
